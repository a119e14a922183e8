"""Lightweight and dynamic convolutions (Wu et al. 2019), which replace self-attention."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.attention import Record, Remember, causal_mask


class Convolution(nn.Module):
    """A gated linear unit, a convolution that mixes positions and never channels, and a linear map.

    The channels of a head share one kernel, whose weights are positive and sum to one.

    Args:
        d_model: width of the states.
        heads: number of heads, a divisor of ``d_model``.
        width: number of positions that a kernel reads; odd for centred kernels.
        dropout: dropout on the weights of the kernels.
    """

    def __init__(self, d_model: int, heads: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"heads: expected a divisor of d_model {d_model}, got {heads}")
        if width < 1:
            raise ValueError(f"width: expected at least 1, got {width}")
        self.heads = heads
        self.width = width
        self.dropout = dropout
        self.input = nn.Linear(d_model, 2 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def reset_parameters(self) -> None:
        for linear in (self.input, self.output):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    @abstractmethod
    def scores(self, inputs: Tensor) -> Tensor:
        """``[B, H, q, k]``, or anything that expands to it: kernels before the softmax."""

    def kernels(self, inputs: Tensor) -> Tensor:
        """``[B, H, q, k]`` kernels of each position of ``inputs [B, q, d]``; each sums to one."""
        scores = self.scores(inputs)
        weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
        return weights.expand(inputs.shape[0], -1, inputs.shape[1], -1)

    def forward(self, states: Tensor, mask: Tensor | None = None, *, record: Record = None) -> Tensor:
        """``[B, s, d]``: kernels centred at each of the ``states [B, s, d]``.

        Args:
            mask: ``[B, s]``, False for padding, which is read as zeros.
            record: ignored, because there is no attention.
        """
        if self.width % 2 == 0:
            raise ValueError(f"width: expected an odd number for a centred kernel, got {self.width}")
        inputs = F.glu(self.input(states))
        if mask is not None:
            inputs = inputs.masked_fill(~mask[..., None], 0)
        return self._mix(inputs, inputs, -(self.width // 2))

    def look_back(
        self,
        states: Tensor,
        bias: Tensor | None = None,
        *,
        causal: bool = True,
        remember: Remember | None = None,
        record: Record = None,
    ) -> Tensor:
        """``[B, q, d]``: kernels that end at each of the ``states [B, q, d]`` of a target.

        Args:
            bias: ``[B or 1, 1, q, past + q]``; it may hide later positions alone.
            causal: ignored, because kernels never see later positions.
            remember: stores the kernels' inputs as keys ``[B, 1, q, d]``, with values of width 0.
            record: ignored, because there is no attention.
        """
        _refuse_hidden(bias)
        inputs = F.glu(self.input(states))
        rows = remembered(inputs, remember)
        return self._mix(inputs, rows, rows.shape[1] - inputs.shape[1] - self.width + 1)

    def _mix(self, inputs: Tensor, rows: Tensor, offset: int) -> Tensor:
        kernels = F.dropout(self.kernels(inputs), self.dropout, self.training)
        return self.output(convolve(kernels.to(rows.dtype), rows, offset))


class LightweightConvolution(Convolution):
    """One kernel for each head, the same at all positions."""

    def __init__(self, d_model: int, heads: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__(d_model, heads, width, dropout=dropout)
        self.weight = nn.Parameter(torch.empty(heads, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier, for the kernels as those of a depthwise convolution."""
        super().reset_parameters()
        bound = math.sqrt(6 / (self.width * (1 + self.heads)))
        nn.init.uniform_(self.weight, -bound, bound)

    def scores(self, inputs: Tensor) -> Tensor:
        return self.weight[None, :, None]


class DynamicConvolution(Convolution):
    """Kernels that each position predicts from its state."""

    def __init__(self, d_model: int, heads: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__(d_model, heads, width, dropout=dropout)
        self.predict = nn.Linear(d_model, heads * width, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.xavier_uniform_(self.predict.weight)

    def scores(self, inputs: Tensor) -> Tensor:
        return self.predict(inputs).unflatten(-1, (self.heads, self.width)).transpose(1, 2)


def convolve(kernels: Tensor, rows: Tensor, offset: int) -> Tensor:
    """``[B, q, d]``: at position i of a head, the sum over j of kernels[i, j] · rows[i + j + offset].

    Rows before the first and after the last are zero. The kernels become the diagonals of a ``[q, rows]``
    matrix, so that no tensor is as large as ``[B, q, k, d]``.

    Args:
        kernels: ``[B, H, q, k]``.
        rows: ``[B, t, d]``; head h reads the h-th part of the channels.
        offset: the row that the first weight of the first kernel reads.
    """
    H, q, k = kernels.shape[1:]
    # pad each kernel with q zeros, then cut lines one shorter: each line starts one place further right
    band = F.pad(kernels, (0, q)).flatten(-2)[..., :-q].unflatten(-1, (q, q + k - 1))
    start = max(0, offset)
    end = max(start, min(rows.shape[1], offset + q + k - 1))
    heads = rows[:, start:end].unflatten(-1, (H, -1)).transpose(1, 2)
    return (band[..., start - offset : end - offset] @ heads).transpose(1, 2).flatten(2)


def remembered(inputs: Tensor, remember: Remember | None) -> Tensor:
    """``[B, past + q, d]``: the inputs of a convolution in earlier steps, and ``inputs [B, q, d]``."""
    if remember is None:
        return inputs
    rows, _ = remember(inputs[:, None], inputs[:, None, :, :0])
    return rows[:, 0]


def _refuse_hidden(bias: Tensor | None) -> None:
    """Refuse a bias that hides earlier positions. Only on the CPU: a GPU would have to wait."""
    if bias is not None and bias.device.type == "cpu":
        seen = causal_mask(bias.shape[-2], bias.shape[-1], bias.device)
        if (bias.isinf() & seen).any():
            raise ValueError("bias: a convolution reads all earlier positions, got some that are hidden")
