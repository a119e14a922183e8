"""Reading the folders of models: safetensors only, tensors as the config asks, nothing outside the folder."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treeformer.configuration import read_json

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, WEIGHTS = "config.json", "model.safetensors"
Shape = tuple[int, ...]
_IMPLEMENTATIONS = ("eager", "sdpa")
_NOT_OURS = ("transformers_weights", "quantization_config", "fusion_config")
_LARGEST_SIZE, _MOST_LAYERS = (
    2**20,
    100,
)  # allowed in any case: a config has sizes that its model does not use


class StoredTensor(NamedTuple):
    """A tensor as the header of a file describes it."""

    shape: Shape
    dtype: str  #: as safetensors names it, such as F32 or I8


def refuse_pickles(folder: Path) -> None:
    """Refuse an index of weight files that names anything but safetensors files in the folder."""
    for index in sorted(folder.glob("*.index.json")):
        _indexed_files(index)


def _indexed_files(index: Path) -> list[Path]:
    """The weight files that an index names."""
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise ValueError(f"{index}: weight_map: expected the name of a file for each tensor")
    names = sorted(set(weight_map.values()))
    others = [name for name in names if not name.endswith(".safetensors")]
    if others:
        raise ValueError(f"{index}: expected safetensors files, got {', '.join(others)}")
    outside = [name for name in names if Path(name).name != name]
    if outside:
        raise ValueError(f"{index}: expected names of files in the same folder, got {outside[0]}")
    return [index.parent / name for name in names]


def read_config(folder: Path) -> dict[str, Any]:
    """The ``config.json`` of a model; ``ValueError`` if it names code or weights outside the folder.

    transformers would load an attention implementation with the name of a repository from its hub.
    """
    path = folder / CONFIG
    config = read_json(path)
    for key, value in _entries(config):
        name = key.rpartition(".")[2]
        if "_implementation" in name and value not in (None, *_IMPLEMENTATIONS):
            choices = ", ".join(_IMPLEMENTATIONS)
            raise ValueError(f"{path}: {key}: expected one of {choices}, got {str(value)!r:.60}")
        if name in _NOT_OURS and value is not None:
            raise ValueError(f"{path}: {key}: not supported, expected plain weights in {WEIGHTS}")
    return config


def _entries(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The keys and values of a config and of the configs inside it."""
    for key, value in config.items():
        yield prefix + key, value
        if isinstance(value, dict):
            yield from _entries(value, f"{prefix}{key}.")


def stored_tensors(files: Sequence[Path]) -> dict[str, StoredTensor]:
    """Names and shapes of the tensors in safetensors files; only the headers are read."""
    from safetensors import SafetensorError, safe_open

    tensors: dict[str, StoredTensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="np") as stored:
                for name in stored.keys():  # noqa: SIM118 (not a mapping)
                    part = stored.get_slice(name)
                    tensors[name] = StoredTensor(tuple(part.get_shape()), part.get_dtype())
        except FileNotFoundError:
            raise ValueError(f"{path}: no such file, expected the weights of a model") from None
        except SafetensorError as error:
            raise ValueError(f"{path}: not a valid safetensors file ({error})") from error
    return tensors


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights of a model, as transformers chooses them; none if there are none."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    index = folder / f"{WEIGHTS}.index.json"
    return _indexed_files(index) if index.is_file() else []


def check_sizes(path: Path, sizes: Mapping[str, Any], stored: Mapping[str, StoredTensor]) -> None:
    """Raise ``ValueError`` for sizes in a file that the stored weights cannot have.

    A model of such sizes could not even be allocated, so this comes before it is built.
    """
    tensors, numbers = len(stored), sum(math.prod(tensor.shape) for tensor in stored.values())
    for key, value in _entries(sizes):
        layers = isinstance(value, list) or key.endswith("layers")
        size = len(value) if isinstance(value, list) else value
        largest = max(_MOST_LAYERS, tensors) if layers else max(_LARGEST_SIZE, numbers)
        if isinstance(size, int | float) and size > largest:
            held = f"{tensors} tensors" if layers else f"{numbers} numbers"
            raise ValueError(f"{path}: {key}: {size!s:.20} is too large for the weights, which are {held}")


def check_tensors(
    source: object, stored: Mapping[str, Shape], expected: Mapping[str, Shape], optional: Collection[str] = ()
) -> None:
    """Raise ``ValueError`` if tensors are missing, of another shape, or not of the model.

    Args:
        source: the file that the tensors are from.
        stored: their shapes by name.
        expected: the shapes that the model has.
        optional: names that may be missing, because the model shares them with others.
    """
    problems = [f"{name} is missing" for name in expected if name not in stored and name not in optional]
    problems += [
        f"{name} has the shape {list(shape)}, expected {list(expected[name])}"
        for name, shape in stored.items()
        if name in expected and shape != expected[name]
    ]
    problems += [f"{name} is not of this model" for name in stored if name not in expected]
    if problems:
        more = f"; {len(problems)} problems in all" if len(problems) > 1 else ""
        raise ValueError(f"{source}: tensor {problems[0]}{more}")


def check_finite(source: object, tensors: Mapping[str, Tensor] | Mapping[str, np.ndarray]) -> None:
    """Raise ``ValueError`` if a tensor or array has a number that is infinite or NaN."""
    for name, tensor in tensors.items():
        if not _is_finite(tensor):
            raise ValueError(f"{source}: tensor {name} has numbers that are infinite or NaN")


def _is_finite(tensor: Tensor | np.ndarray) -> bool:
    """Whether all numbers are finite; those of integers and of tensors without content are."""
    if isinstance(tensor, np.ndarray):
        return bool(np.isfinite(tensor).all())
    if not tensor.is_floating_point() or tensor.device.type == "meta":
        return True
    return bool(tensor.isfinite().all())


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Hide the progress bars of transformers: reading a file takes a moment."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
