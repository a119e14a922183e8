"""Vectors of tokens and of positions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class ScaledEmbedding(nn.Embedding):
    """A table of vectors that are multiplied by √d; its rows may serve as output weights, too.

    Args:
        rows: number of vectors.
        d_model: their width.
        padding: the row that starts as zero and gets no gradient from lookups.
    """

    padding_idx: int

    def __init__(self, rows: int, d_model: int, padding: int) -> None:
        if not 0 <= padding < rows:
            raise ValueError(f"padding: expected a row of the table, 0 to {rows - 1}, got {padding}")
        super().__init__(rows, d_model, padding_idx=padding)

    def reset_parameters(self) -> None:
        """Rows ~ N(0, 1/d), so that vectors start with variance 1."""
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.embedding_dim))
        with torch.no_grad():
            self.weight[self.padding_idx].zero_()

    def forward(self, ids: Tensor) -> Tensor:
        """``[..., d]``: √d · E[ids]."""
        return super().forward(ids) * math.sqrt(self.embedding_dim)


def with_positions(vectors: Tensor, first: int = 0) -> Tensor:
    """``vectors [B, s, d]`` with those of the positions ``first``, ``first + 1``, … added."""
    positions = torch.arange(first, first + vectors.shape[1], device=vectors.device)
    return vectors + sinusoids(positions, vectors.shape[-1]).to(vectors.dtype)


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """``[..., d]`` vectors of positions: sines in the even places and cosines in the odd ones."""
    frequency = torch.exp(
        torch.arange(0, d_model, 2, device=positions.device) * (-math.log(10000.0) / d_model)
    )
    angle = positions[..., None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)[..., :d_model]
