"""Checkpoints: folders ``STEP`` that are whole or not there, whenever the machine stops.

A checkpoint is written beside its place under a name with a dot, every file is flushed to the disk, a
manifest with the hash of each comes last, and only then the folder gets its name. What does not match its
manifest is no checkpoint. Tensors are safetensors files, all else is JSON: reading one runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from treeformer.storage import flush_folder, write_synced

_MANIFEST, _FACTS = "manifest.json", "facts.json"
Tensors = Mapping[str, Tensor]


class Checkpoint(NamedTuple):
    """What a checkpoint holds: named groups of tensors, and facts."""

    tensors: dict[str, dict[str, Tensor]]
    facts: dict[str, Any]


def save(state: Path, step: int, tensors: Mapping[str, Tensors], facts: Mapping[str, Any]) -> Path:
    """Write ``state/STEP``. If that fails, older checkpoints are as they were, and the error says so.

    Args:
        state: the folder of all checkpoints.
        step: the number of this one.
        tensors: groups of tensors; each becomes one file.
        facts: what JSON can hold.
    """
    place, beside = state / str(step), state / f".{step}.part"
    hashes: dict[str, str] = {}
    try:
        state.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        for name, group in tensors.items():
            whole = {key: tensor.detach().contiguous().cpu() for key, tensor in group.items()}
            hashes[f"{name}.safetensors"] = write_synced(
                beside / f"{name}.safetensors", safetensors.torch.save(whole)
            )
        hashes[_FACTS] = write_synced(beside / _FACTS, _json(facts))
        write_synced(beside / _MANIFEST, _json(hashes))
        flush_folder(beside)
        if place.exists():
            shutil.rmtree(place)
        os.rename(beside, place)
        flush_folder(state)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        there = steps(state)
        kept = f"that of update {there[-1]} is there" if there else "there is no earlier one"
        raise OSError(
            f"{place}: the checkpoint could not be written ({error.strerror}); {kept}. "
            "Make room and run the same command again: it goes on from there"
        ) from error
    return place


def load(place: Path) -> Checkpoint:
    """The checkpoint in this folder; ``ValueError`` if a file is missing, cut short or changed."""
    try:
        hashes = json.loads((place / _MANIFEST).read_bytes())
        contents = {name: (place / name).read_bytes() for name in hashes}
    except (OSError, ValueError) as error:
        raise ValueError(f"{place}: not a whole checkpoint ({error})") from error
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != hashes[name]:
            raise ValueError(f"{place / name}: cut short or changed since it was written")
    return Checkpoint(
        {
            name.removesuffix(".safetensors"): safetensors.torch.load(content)
            for name, content in contents.items()
            if name.endswith(".safetensors")
        },
        json.loads(contents[_FACTS]),
    )


def steps(state: Path) -> list[int]:
    """The numbers of all checkpoints that are there, in order."""
    if not state.is_dir():
        return []
    return sorted(int(place.name) for place in state.iterdir() if place.name.isdecimal())


def latest(state: Path, report: Callable[[str], None]) -> Checkpoint | None:
    """The last checkpoint that is whole, None if there never was one. Broken ones after it are removed."""
    broken: list[int] = []
    found: Checkpoint | None = None
    for step in reversed(steps(state)):
        try:
            found = load(state / str(step))
            break
        except ValueError as error:
            report(f"warning: {error}; trying the checkpoint before it")
            broken.append(step)
    if broken and found is None:
        raise ValueError(f"{state}: none of the checkpoints is whole; remove the run to begin anew")
    remove(state, broken)
    for rest in state.glob(".*.part") if state.is_dir() else ():
        shutil.rmtree(rest, ignore_errors=True)
    return found


def remove(state: Path, unwanted: Iterable[int]) -> None:
    """Remove checkpoints; one that is half removed has no number any more."""
    for step in unwanted:
        beside = state / f".{step}.part"
        shutil.rmtree(beside, ignore_errors=True)
        os.rename(state / str(step), beside)
        shutil.rmtree(beside, ignore_errors=True)


def prune(state: Path, *, every: int, keep: int, wanted: Collection[int]) -> None:
    """Keep the last ``keep`` checkpoints at multiples of ``every``, the wanted ones and the very last."""
    there = steps(state)
    regular = [step for step in there if step % every == 0]
    kept = {*regular[-keep:], *wanted, *there[-1:]}
    remove(state, [step for step in there if step not in kept])


def average(groups: Sequence[Tensors]) -> dict[str, Tensor]:
    """The mean of each tensor, in its own dtype; summed in float64."""
    return {
        name: (sum(group[name].to(torch.float64) for group in groups) / len(groups)).to(first.dtype)  # type: ignore[union-attr]
        for name, first in groups[0].items()
    }


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()
