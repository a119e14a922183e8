"""Recording and replaying of CUDA graphs: real ones on a GPU, a stand-in elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.training.test_updates import batch_of, model_of, rows, settings
from treeformer.training import graphs
from treeformer.training.graphs import GraphedBatches, Recorder
from treeformer.training.updates import Updater


class Replay:
    """Repeats the recorded work on the memory it was recorded with."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.replay = work


class StandIn:
    """Stand-in for `Recorder` on a CPU: a graph is the work itself."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        self.recorded = 0

    @contextmanager
    def random_state_unchanged(self) -> Iterator[None]:
        state = torch.get_rng_state()
        yield
        torch.set_rng_state(state)

    def rehearse(self, work: Callable[[], None]) -> None:
        work()

    def record(self, work: Callable[[], None]) -> Any:
        self.recorded += 1
        return Replay(work)


def recorder() -> Any:
    return Recorder(torch.device("cuda")) if torch.cuda.is_available() else StandIn()


def parts() -> list[dict[str, Tensor]]:
    """Batches of two shapes; one shape occurs several times with different contents."""
    batch = batch_of()
    return [rows(batch, *chosen) for chosen in ([0, 1], [2, 3], [1, 2], [0, 1, 2], [3, 0], [2, 1], [0, 1])]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_training_with_graphs_gives_the_weights_of_training_without(dropout: float) -> None:
    weights = []
    for graphed in (False, True):
        place = recorder()
        model = model_of(dropout=dropout).to(place.device)
        updater = Updater(model, settings(clip=0.5), recorder=place if graphed else None)
        torch.manual_seed(1)
        for one, other in zip(parts(), parts()[1:], strict=False):
            updater.add(one)
            updater.add(other)
            updater.step(0.01)
        if graphed:
            assert updater.graph_count == 2
        weights.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
    torch.testing.assert_close(*weights)


def test_the_second_batch_of_a_shape_is_recorded_and_buffers_take_new_contents() -> None:
    place = recorder()
    total = torch.zeros((), device=place.device)

    def add(batch: Any) -> None:
        total.add_(batch["x"].sum())

    work = GraphedBatches(add, (total,), place)
    expected = 0.0
    for number, size in enumerate((3, 4, 3, 3, 4, 5), start=1):
        work({"x": torch.full((size,), float(number))})
        expected += number * size
        assert total.item() == expected
    assert len(work) == 2


def test_limits_are_part_of_the_shape_and_stay_on_the_host() -> None:
    place = recorder()
    total, seen = torch.zeros((), device=place.device), []

    def add(batch: Any) -> None:
        seen.append((batch["limits"].device.type, batch["limits"].tolist()))
        total.add_(batch["x"].sum())

    work = GraphedBatches(add, (total,), place)
    for levels in (4, 8, 4, 8, 4):
        work({"x": torch.ones(3), "limits": torch.tensor([levels, 7])})
    assert total.item() == 15
    assert len(work) == 2
    assert {tuple(limits) for _, limits in seen} == {(4, 7), (8, 7)}
    assert {device for device, _ in seen} == {"cpu"}


def test_past_the_limit_batches_run_without_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "LIMIT", 1)
    place = recorder()
    total = torch.zeros((), device=place.device)
    work = GraphedBatches(lambda batch: total.add_(batch["x"].sum()), (total,), place)  # type: ignore[arg-type, return-value]
    for size in (1, 2, 1, 2, 1, 2):
        work({"x": torch.ones(size)})
    assert total.item() == 9
    assert len(work) == 1
