"""Gated convolutions and the attention between them (Gehring et al. 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.attention import AttentionRecord, KeysValues, Record, Remember
from treeformer.nn.convolution import remembered

HALF = math.sqrt(0.5)  #: factor that keeps the variance of a sum of two


class NormalisedLinear(nn.Module):
    """A linear map with weight normalisation: the rows have lengths and directions, W = g · v / ‖v‖.

    Args:
        inputs, outputs: widths.
        variance: initial variance of outputs for inputs of variance 1: weights ~ N(0, variance / inputs).
    """

    def __init__(self, inputs: int, outputs: int, *, variance: float = 1.0) -> None:
        super().__init__()
        self.variance = variance
        self.gain = nn.Parameter(torch.empty(outputs, 1))
        self.direction = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.direction, std=math.sqrt(self.variance / self.direction.shape[1]))
        nn.init.zeros_(self.bias)
        with torch.no_grad():
            self.gain.copy_(self.direction.norm(dim=1, keepdim=True))

    def forward(self, states: Tensor) -> Tensor:
        """``[..., outputs]`` of ``states [..., inputs]``."""
        weight = self.direction * (self.gain / self.direction.norm(dim=1, keepdim=True))
        return F.linear(states, weight, self.bias)


class GatedConvolution(nn.Module):
    """Dropout, a convolution to twice the channels, and a gated linear unit.

    Args:
        channels: width of the states.
        width: number of positions that a kernel reads; odd, if it is to be centred.
        dropout: dropout on what it reads.
    """

    def __init__(self, channels: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = width
        self.dropout = nn.Dropout(dropout)
        # a gate is initially about one half, and dropout adds to the variance
        self.linear = NormalisedLinear(width * channels, 2 * channels, variance=4 * (1 - dropout))

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """``[B, s, c]``: kernels centred at each of the ``states [B, s, c]``.

        Positions where ``mask [B, s]`` is False are read as zeros.
        """
        if self.width % 2 == 0:
            raise ValueError(f"width: expected an odd number for a centred kernel, got {self.width}")
        states = self.dropout(states)
        if mask is not None:
            states = states.masked_fill(~mask[..., None], 0)
        side = self.width // 2
        return self._convolve(F.pad(states, (0, 0, side, side)))

    def look_back(self, states: Tensor, remember: Remember | None = None) -> Tensor:
        """``[B, q, c]``: kernels that end at each of the ``states [B, q, c]`` of a target."""
        read = self.width - 1 + states.shape[1]
        rows = remembered(self.dropout(states), remember)[:, -read:]
        return self._convolve(F.pad(rows, (0, 0, read - rows.shape[1], 0)))

    def _convolve(self, rows: Tensor) -> Tensor:
        """``[B, q, c]`` of ``rows [B, q + k − 1, c]``."""
        count = rows.shape[1] - self.width + 1
        windows = torch.cat([rows[:, tap : tap + count] for tap in range(self.width)], dim=-1)
        return F.glu(self.linear(windows))


class StepAttention(nn.Module):
    """Attention of one head from a convolution's output to the source, added to the output.

    Args:
        channels: width of the states.
        d_model: width of embeddings, keys and values.
    """

    def __init__(self, channels: int, d_model: int) -> None:
        super().__init__()
        self.query = NormalisedLinear(channels, d_model)
        self.output = NormalisedLinear(d_model, channels)

    def forward(
        self, states: Tensor, vectors: Tensor, memory: KeysValues, bias: Tensor | None, record: Record = None
    ) -> Tensor:
        """``[B, q, c]`` states plus attended values.

        Args:
            states: ``[B, q, c]``; or ``[B · beams, q, c]``, those of one source in a row.
            vectors: ``[B, q, d]`` embedded target, of the same rows.
            memory: keys and values ``[B, 1, s, d]``.
            bias: ``[B, 1, 1, s]`` bias that hides padding of the source.
            record: a list that receives the attention weights.
        """
        keys, values = memory
        queries = (self.query(states) + vectors) * HALF
        joined = queries.reshape(len(keys), 1, -1, queries.shape[-1])  # all targets of one source in one row
        scores = joined @ keys.mT
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        weights = (scores if bias is None else scores + bias).softmax(-1)
        if record is not None:
            record.append(AttentionRecord(weights))
        attended = (weights.to(values.dtype) @ values).reshape_as(queries)
        return (self.output(attended) + states) * HALF


class GatedDecoderLayer(nn.Module):
    """A convolution that looks back, attention to the source, and a residual connection.

    Args:
        channels: width of the states.
        d_model: width of embeddings, keys and values.
        width, dropout: settings of the convolution.
    """

    def __init__(self, channels: int, d_model: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.convolution = GatedConvolution(channels, width, dropout=dropout)
        self.attention = StepAttention(channels, d_model)

    def forward(
        self,
        states: Tensor,
        vectors: Tensor,
        memory: KeysValues,
        bias: Tensor | None,
        *,
        remember: Remember | None = None,
        record: Record = None,
    ) -> Tensor:
        """``[B, q, c]`` states after this layer; see `StepAttention.forward`."""
        convolved = self.convolution.look_back(states, remember)
        return (self.attention(convolved, vectors, memory, bias, record) + states) * HALF


def scale_gradient(states: Tensor, factor: float) -> Tensor:
    """``states`` with a gradient that is multiplied by ``factor``."""
    fixed = states.detach()
    return fixed + factor * (states - fixed)
