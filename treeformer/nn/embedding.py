"""Vectors of tokens and of positions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Embedding(nn.Module):
    """A table of vectors; some of its rows may serve as output weights too.

    Args:
        rows: number of vectors.
        d_model: their width.
        padding: the row that starts as zero and gets no gradient from lookups.
    """

    def __init__(self, rows: int, d_model: int, padding: int) -> None:
        super().__init__()
        if not 0 <= padding < rows:
            raise ValueError(f"padding: expected a row of the table, 0 to {rows - 1}, got {padding}")
        self.padding = padding
        self.weight = nn.Parameter(torch.empty(rows, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        rows, d_model = self.weight.shape
        keep = torch.ones(rows, 1, device=self.weight.device)
        keep[self.padding] = 0
        nn.init.normal_(self.weight, std=1 / math.sqrt(d_model))
        with torch.no_grad():
            self.weight.mul_(keep)

    def forward(self, ids: Tensor) -> Tensor:
        """``[..., d]``: √d · E[ids]."""
        return F.embedding(ids, self.weight, self.padding) * math.sqrt(self.weight.shape[1])


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """``[..., d]`` vectors of positions: sines in the even places and cosines in the odd ones."""
    frequency = torch.exp(
        torch.arange(0, d_model, 2, device=positions.device) * (-math.log(10000.0) / d_model)
    )
    angle = positions[..., None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)[..., :d_model]
