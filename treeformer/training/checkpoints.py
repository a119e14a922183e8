"""Checkpoints: folders ``STEP`` that are complete or absent, even if the machine stops.

A checkpoint is written into a hidden folder. Every file is synced to the disk, the manifest with the hash
of each file is written last, and only then the folder gets its name. A folder that does not match its
manifest is not used. Tensors are safetensors files and the rest is JSON: reading one runs no code.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from treeformer.configuration import Settings, read_json
from treeformer.storage import move_folder, remove_folder, write_synced

_MANIFEST, _POSITION = "manifest.json", "facts.json"
_TENSORS = ".safetensors"


@dataclass
class Position:
    """Training progress."""

    step: int = 0  #: updates done
    epoch: int = 0
    place: int = 0  #: updates done in this epoch
    best: float | None = None  #: best score on dev
    best_step: int = 0  #: update after which it was reached
    misses: int = 0  #: evaluations since then
    seconds: float = 0.0  #: spent training
    cpu_seconds: float = 0.0  #: of processors, by the first process


class _Facts(Settings):
    """Checks the types of a position that was read."""

    position: Position


class Checkpoint(NamedTuple):
    """Content of a checkpoint: named groups of tensors, and the position."""

    tensors: dict[str, dict[str, Tensor]]
    position: Position


def save(state: Path, tensors: Mapping[str, Mapping[str, Tensor]], position: Position) -> Path:
    """Write the checkpoint ``state/STEP``. If that fails, older checkpoints stay, and the error says so.

    Args:
        state: the folder of all checkpoints.
        tensors: groups of tensors; each becomes a file.
        position: its step names the checkpoint.
    """
    folder = state / str(position.step)
    part = state / f".{position.step}.part"
    hashes: dict[str, str] = {}
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name, content in _files(tensors, position):
            write_synced(part / name, content)
            hashes[name] = _sha256(content)
        write_synced(part / _MANIFEST, _json(hashes))
        move_folder(part, folder)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        older = steps(state)
        kept = f"that of update {older[-1]} is kept" if older else "there is no earlier one"
        raise OSError(
            f"{folder}: the checkpoint could not be written ({error.strerror or error}); {kept}. "
            "Free some space and run the same command again to resume"
        ) from error
    return folder


def load(folder: Path) -> Checkpoint:
    """Read a checkpoint; ``ValueError`` if a file is missing, truncated or changed."""
    try:
        hashes = read_json(folder / _MANIFEST)
        if _POSITION not in hashes or not all(Path(name).name == name for name in hashes):
            raise ValueError(f"{_MANIFEST}: expected names of files in the same folder, with {_POSITION}")
        contents = {name: (folder / name).read_bytes() for name in hashes}
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: incomplete checkpoint ({error})") from error
    for name, content in contents.items():
        if _sha256(content) != hashes[name]:
            raise ValueError(f"{folder / name}: truncated or changed since it was written")
    path = folder / _POSITION
    position = _Facts.from_content({"position": read_json(path)}, str(path)).position
    del contents[_POSITION]
    tensors = {}
    for name, content in contents.items():
        try:
            tensors[name.removesuffix(_TENSORS)] = safetensors.torch.load(content)
        except SafetensorError as error:
            raise ValueError(f"{folder / name}: not a valid safetensors file ({error})") from error
    return Checkpoint(tensors, position)


def steps(state: Path) -> list[int]:
    """Steps of all checkpoints in a folder, in ascending order."""
    if not state.is_dir():
        return []
    return sorted(int(folder.name) for folder in state.iterdir() if folder.name.isdecimal())


def latest(state: Path, log: Callable[[str], None]) -> Checkpoint | None:
    """The last intact checkpoint, None if none was ever written. Damaged ones after it are removed."""
    for rest in state.glob(".*"):  # of a save or removal that was interrupted
        shutil.rmtree(rest, ignore_errors=True)
    damaged: list[int] = []
    for step in reversed(steps(state)):
        try:
            checkpoint = load(state / str(step))
        except ValueError as error:
            log(f"warning: {error}; trying the checkpoint before it")
            damaged.append(step)
        else:
            for later in damaged:
                remove_folder(state / str(later))
            return checkpoint
    if damaged:
        raise ValueError(f"{state}: every checkpoint is damaged; delete the run to start again")
    return None


def prune(state: Path, *, every: int, keep: int, wanted: Collection[int]) -> None:
    """Keep the last ``keep`` checkpoints at multiples of ``every``, the wanted ones and the last one."""
    existing = steps(state)
    regular = [step for step in existing if step % every == 0]
    kept = {*regular[-keep:], *wanted, *existing[-1:]}
    for step in existing:
        if step not in kept:
            remove_folder(state / str(step))


def average(groups: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Mean of each tensor, in its dtype; summed in float64."""
    return {
        name: (sum(group[name].to(torch.float64) for group in groups) / len(groups)).to(first.dtype)  # type: ignore[union-attr]
        for name, first in groups[0].items()
    }


def tensor_file(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Content of a safetensors file."""
    on_cpu = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    return safetensors.torch.save(on_cpu, metadata=metadata)


def _files(tensors: Mapping[str, Mapping[str, Tensor]], position: Position) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a checkpoint, one at a time to save memory."""
    for name, group in tensors.items():
        yield f"{name}{_TENSORS}", tensor_file(group)
    yield _POSITION, _json(asdict(position))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
