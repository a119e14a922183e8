"""Weights of a parser on disk: 16 bits, or 8 bits with a scale for each row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from treeformer.model_folder import StoredTensor, check_tensors

_SCALE = "/scale"  # suffix of the name of the scales of a matrix in 8 bits


def stored(weights: Mapping[str, np.ndarray], bits: int = 16) -> dict[str, np.ndarray]:
    """The arrays to write for these weights; `restored` undoes it, except for rounding.

    With ``bits=8`` rows of matrices are integers from −127 to 127 times a scale; vectors keep 16 bits.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        weight = weight.astype(np.float32)
        if bits == 8 and weight.ndim == 2:
            scale = np.maximum(np.abs(weight).max(1) / np.float32(127), np.float32(1e-7)).astype(np.float16)
            arrays[name + _SCALE] = scale
            rounded = np.round(weight / scale.astype(np.float32)[:, None])
            arrays[name] = np.clip(rounded, -127, 127).astype(np.int8)
        else:
            arrays[name] = weight.astype(np.float16)
    return arrays


def check_stored(
    path: Path, stored: Mapping[str, StoredTensor], weights: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise ``ValueError`` unless a file has exactly the tensors of weights of these shapes."""
    expected = dict(weights)
    for name, shape in weights.items():
        if name in stored and stored[name].dtype == "I8":
            expected[name + _SCALE] = shape[:1]
    check_tensors(path, {name: tensor.shape for name, tensor in stored.items()}, expected)


def restored(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights of stored arrays, in float32."""
    weights = {name: array.astype(np.float32) for name, array in arrays.items() if not name.endswith(_SCALE)}
    for name, scale in arrays.items():
        if name.endswith(_SCALE):
            weights[name.removesuffix(_SCALE)] *= scale.astype(np.float32)[:, None]
    return weights
