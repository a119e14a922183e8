"""Checkpoints and files are complete or absent."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from treeformer.storage import move_folder, remove_folder, write_file
from treeformer.training import checkpoints
from treeformer.training.checkpoints import Position


def tensors(seed: int, size: int = 10) -> dict[str, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "model": {"weight": torch.randn(size, 3, generator=generator), "scalar": torch.tensor(seed)},
        "random": {"cpu.0": torch.arange(seed, dtype=torch.uint8)},
    }


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """Limit the size of files, which has the effect of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_checkpoint_is_restored_bit_for_bit_and_contains_no_pickle(tmp_path: Path) -> None:
    saved = tensors(7)
    position = Position(step=7, best=0.1 + 0.2, best_step=5, seconds=1 / 3)
    place = checkpoints.save(tmp_path / "state", saved, position)
    assert names(place) == {"model.safetensors", "random.safetensors", "facts.json", "manifest.json"}
    loaded = checkpoints.load(place)
    assert loaded.position == position
    for group, inside in saved.items():
        assert loaded.tensors[group].keys() == inside.keys()
        assert all(torch.equal(loaded.tensors[group][name], tensor) for name, tensor in inside.items())


@pytest.mark.parametrize("file", ["model.safetensors", "random.safetensors", "facts.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "changed"])
def test_a_damaged_checkpoint_is_detected_and_the_previous_one_is_used(
    tmp_path: Path, file: str, damage: str
) -> None:
    for step in (1, 2):
        checkpoints.save(tmp_path, tensors(step), Position(step))
    path = tmp_path / "2" / file
    content = path.read_bytes()
    middle = len(content) // 2
    match damage:
        case "cut":
            path.write_bytes(content[:middle])
        case "empty":
            path.write_bytes(b"")
        case "missing":
            path.unlink()
        case "changed":
            path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    logged: list[str] = []
    checkpoint = checkpoints.latest(tmp_path, logged.append)
    assert checkpoint is not None
    assert checkpoint.position == Position(1)
    assert len(logged) == 1
    assert str(tmp_path / "2") in logged[0]
    assert names(tmp_path) == {"1"}


def test_if_every_checkpoint_is_damaged_nothing_is_removed(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, tensors(1), Position(1))
    (tmp_path / "1" / "facts.json").write_text("{")
    with pytest.raises(ValueError, match="every checkpoint is damaged"):
        checkpoints.latest(tmp_path, lambda message: None)
    assert names(tmp_path) == {"1"}


def test_the_rest_of_an_interrupted_save_is_ignored_and_removed(tmp_path: Path) -> None:
    assert checkpoints.latest(tmp_path / "state", print) is None
    checkpoints.save(tmp_path, tensors(1), Position(1))
    (tmp_path / ".2.part").mkdir()
    (tmp_path / ".2.part" / "model.safetensors").write_bytes(b"half")
    assert checkpoints.steps(tmp_path) == [1]
    assert checkpoints.latest(tmp_path, print) is not None
    assert names(tmp_path) == {"1"}


def test_a_full_disk_leaves_the_previous_checkpoint_and_names_the_remedy(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, tensors(1, 1000), Position(1))
    with (
        disk_with_room_for(5000),
        pytest.raises(OSError, match=r"2: the checkpoint could not be written .* update 1 is kept.*again"),
    ):
        checkpoints.save(tmp_path, tensors(2, 1000), Position(2))
    assert names(tmp_path) == {"1"}
    assert checkpoints.load(tmp_path / "1").position == Position(1)
    with disk_with_room_for(5), pytest.raises(OSError, match="as it was before"):
        write_file(tmp_path / "run.json", b"x" * 10)
    assert names(tmp_path) == {"1"}


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for content in (b"{}", json.dumps({"a": 1}).encode()):
        write_file(path, content)
        assert path.read_bytes() == content
    with disk_with_room_for(3), pytest.raises(OSError, match="could not be written"):
        write_file(path, b"x" * 10)
    assert path.read_bytes() == b'{"a": 1}'
    assert names(tmp_path) == {"run.json"}


def test_pruning_keeps_the_last_regular_the_wanted_and_the_latest_checkpoints(tmp_path: Path) -> None:
    for step in (10, 20, 25, 30, 40, 45):
        checkpoints.save(tmp_path, tensors(1), Position(step))
    checkpoints.prune(tmp_path, every=10, keep=2, wanted={25, 0})
    assert checkpoints.steps(tmp_path) == [25, 30, 40, 45]
    checkpoints.prune(tmp_path, every=10, keep=1, wanted={40})
    assert checkpoints.steps(tmp_path) == [40, 45]


def test_the_average_is_the_mean_of_each_tensor() -> None:
    one, two, three = (tensors(seed)["model"] for seed in (1, 2, 3))
    mean = checkpoints.average([one, two, three])
    expected = (one["weight"] + two["weight"] + three["weight"]) / 3
    assert mean["weight"].dtype == torch.float32
    torch.testing.assert_close(mean["weight"], expected)


def test_a_folder_takes_the_place_of_another_and_is_removed(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    move_folder(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "file").read_text() == "new"
    assert names(tmp_path) == {"old"}
    remove_folder(tmp_path / "old")
    assert names(tmp_path) == set()
