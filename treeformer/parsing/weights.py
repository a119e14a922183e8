"""Weights of a parser on disk: 16 bits, or 8 bits with a scale for each row."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

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


def restored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of stored tensors, in float32."""
    weights = {name: tensor.float() for name, tensor in tensors.items() if not name.endswith(_SCALE)}
    for name, scale in tensors.items():
        if name.endswith(_SCALE):
            weights[name.removesuffix(_SCALE)] *= scale.float()[:, None]
    return weights
