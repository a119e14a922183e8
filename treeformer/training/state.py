"""Where training stands, as tensors and facts that a checkpoint can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from treeformer.training.checkpoints import Checkpoint
from treeformer.training.processes import Processes
from treeformer.training.updates import Updater


@dataclass
class Position:
    """How far training is."""

    step: int = 0  #: updates done
    epoch: int = 0
    place: int = 0  #: updates done of this epoch
    best: float | None = None  #: the best score on dev
    best_step: int = 0  #: after which update that was
    misses: int = 0  #: looks at dev since then
    seconds: float = 0.0  #: of work


def pack(updater: Updater, position: Position, processes: Processes) -> Checkpoint:
    """All that the next update depends on. Every process must call this."""
    chance = {
        f"{name}.{rank}": state
        for name, own in _generators(updater.device).items()
        for rank, state in enumerate(processes.gather([own]))
    }
    moments = {
        f"{name}.{key}": value
        for name, parameter in updater.model.named_parameters()
        for key, value in updater.optimizer.state[parameter].items()
    }
    groups: dict[str, dict[str, Tensor]] = {
        "model": dict(updater.model.state_dict()),
        "optimizer": moments,
        "random": chance,
        "totals": {"totals": updater.totals},
    }
    return Checkpoint(groups, asdict(position))


def unpack(checkpoint: Checkpoint, updater: Updater, processes: Processes) -> Position:
    """Put everything back where `pack` found it; where training stood.

    A process that was not there at the time keeps its own random numbers.
    """
    tensors, facts = checkpoint
    load_weights(updater, tensors["model"])
    for name, parameter in updater.model.named_parameters():
        for key, value in updater.optimizer.state[parameter].items():
            value.copy_(tensors["optimizer"][f"{name}.{key}"])
    updater.totals.copy_(tensors["totals"]["totals"])
    for name in _generators(updater.device):
        state = tensors["random"].get(f"{name}.{processes.rank}")
        if state is not None and name == "cpu":
            torch.set_rng_state(state)
        elif state is not None:
            torch.cuda.set_rng_state(state, updater.device)
    return Position(**facts)


@torch.no_grad()
def load_weights(updater: Updater, weights: Mapping[str, Tensor]) -> None:
    """Give the model these weights, in the memory that it has."""
    for name, own in updater.model.state_dict().items():
        own.copy_(weights[name])


def _generators(device: torch.device) -> dict[str, Tensor]:
    """The states of the generators that dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states
