"""Lightweight and dynamic convolutions (Wu et al. 2019), which stand where self-attention stands."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.attention import AttentionRecord, Remember, causal_mask


class Convolution(nn.Module):
    """A gated linear unit, a convolution that mixes positions and never channels, and a linear map.

    The channels of a head share one kernel, whose weights are positive and sum to one.

    Args:
        d_model: width of the states.
        heads: number of heads, a divisor of ``d_model``.
        width: number of positions that a kernel reads; odd, if it is to be centred.
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
        return weights.expand(len(inputs), -1, inputs.shape[1], -1)

    def forward(
        self, states: Tensor, mask: Tensor | None = None, *, record: list[AttentionRecord] | None = None
    ) -> Tensor:
        """``[B, s, d]``: kernels centred at each of the ``states [B, s, d]``.

        Args:
            mask: ``[B, s]``, True for positions that are there; the others are read as zeros.
            record: receives nothing, since there is no attention.
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
        record: list[AttentionRecord] | None = None,
    ) -> Tensor:
        """``[B, q, d]``: kernels that end at each of the ``states [B, q, d]`` of a target.

        Args:
            bias: ``[B or 1, 1, q, past + q]``, which may hide later positions and nothing else.
            causal: always so, whatever is said.
            remember: keeps what the kernels read as keys ``[B, 1, q, d]``, and values of no width.
            record: receives nothing, since there is no attention.
        """
        _refuse_hidden(bias)
        inputs = F.glu(self.input(states))
        rows = remembered(inputs, remember)
        return self._mix(inputs, rows, rows.shape[1] - inputs.shape[1] - self.width + 1)

    def _mix(self, inputs: Tensor, rows: Tensor, offset: int) -> Tensor:
        kernels = F.dropout(self.kernels(inputs), self.dropout, self.training)
        return self.output(convolve(kernels.to(rows.dtype), rows, offset))


class LightweightConvolution(Convolution):
    """One kernel a head for all positions."""

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
    """Kernels that each position predicts from what it holds."""

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
    matrix, so that nothing as large as ``[B, q, k, d]`` is made.

    Args:
        kernels: ``[B, H, q, k]``.
        rows: ``[B, t, d]``; head h reads the h-th part of the channels.
        offset: where the first weight of the first kernel stands among the rows.
    """
    H, q, k = kernels.shape[1:]
    # q more zeros after each kernel, in lines of one less: each line starts one place further to the right
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
    """Refuse a bias that hides earlier positions. Only on the CPU: a GPU would have to be waited for."""
    if bias is not None and bias.device.type == "cpu":
        seen = causal_mask(bias.shape[-2], bias.shape[-1], bias.device)
        if (bias.isinf() & seen).any():
            raise ValueError("bias: a convolution reads all earlier positions, got some that are hidden")
