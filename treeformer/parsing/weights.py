"""Weights of a parser on disk: 16 bits, or 8 bits with a scale for each row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from treeformer.model_folder import StoredTensor, check_tensors

_SCALE = "/scale"  # suffix of the name of the scales of a matrix in 8 bits


def stored(weights: Mapping[str, Tensor], bits: int = 16) -> dict[str, Tensor]:
    """The tensors to write for these weights; `restored` undoes it, except for rounding.

    With ``bits=8`` rows of matrices are integers from −127 to 127 times a scale; vectors keep 16 bits.
    """
    tensors: dict[str, Tensor] = {}
    for name, weight in weights.items():
        weight = weight.detach().to("cpu", torch.float32)
        if bits == 8 and weight.dim() == 2:
            scale = (weight.abs().amax(1) / 127).clamp(min=1e-7).half()
            tensors[name + _SCALE] = scale
            tensors[name] = (weight / scale.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
        else:
            tensors[name] = weight.half().contiguous()
    return tensors


def check_stored(
    path: Path, stored: Mapping[str, StoredTensor], weights: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise ``ValueError`` unless a file has exactly the tensors of weights of these shapes."""
    expected = dict(weights)
    for name, shape in weights.items():
        if name in stored and stored[name].dtype == "I8":
            expected[name + _SCALE] = shape[:1]
    check_tensors(path, {name: tensor.shape for name, tensor in stored.items()}, expected)


def restored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of stored tensors, in float32."""
    weights = {name: tensor.float() for name, tensor in tensors.items() if not name.endswith(_SCALE)}
    for name, scale in tensors.items():
        if name.endswith(_SCALE):
            weights[name.removesuffix(_SCALE)] *= scale.float()[:, None]
    return weights
