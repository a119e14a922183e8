"""The network of the embedded parser: words in, scores of spans, labels and tags out."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn import Attention, Encoder, EncoderLayer
from treeformer.nn.attention import additive
from treeformer.parsing.lexicon import SHAPES
from treeformer.parsing.sizes import NetworkSizes


class ParserNetwork(nn.Module):
    """A pre-norm Transformer over words with three heads: brackets, their labels, and tags."""

    def __init__(self, sizes: NetworkSizes, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.sizes = sizes
        self.word = nn.Embedding(sizes.words + 1, sizes.word_width)
        self.piece = nn.Embedding(sizes.buckets + 1, sizes.word_width)  # the last row is padding
        self.shape = nn.Embedding(SHAPES, sizes.word_width)
        self.marks = nn.Parameter(torch.empty(2, sizes.width))
        self.input = nn.Linear(2 * sizes.word_width, sizes.width)
        self.distance = nn.Embedding(2 * sizes.distances, sizes.heads)
        self.encoder = Encoder(
            [
                EncoderLayer(
                    Attention(sizes.width, sizes.heads, dropout=dropout),
                    sizes.width,
                    sizes.inner,
                    dropout=dropout,
                    norm="pre",
                )
                for _ in range(sizes.layers)
            ],
            sizes.width,
            norm="pre",
        )
        self.left = nn.Sequential(nn.Linear(sizes.width, sizes.span_width), nn.GELU(), nn.Dropout(dropout))
        self.right = nn.Sequential(nn.Linear(sizes.width, sizes.span_width), nn.GELU(), nn.Dropout(dropout))
        self.bracket = nn.Parameter(torch.zeros(sizes.span_width + 1, sizes.span_width + 1))
        self.label = nn.Sequential(
            nn.Linear(2 * sizes.width, sizes.width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(sizes.width, sizes.labels),
        )
        self.tag = nn.Linear(sizes.width, sizes.tags)
        self.dropout = nn.Dropout(dropout)
        for table in (self.word, self.piece, self.shape):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.normal_(self.marks, std=0.5)
        nn.init.zeros_(self.distance.weight)

    def forward(
        self, known: Tensor, pieces: Tensor, offsets: Tensor, shapes: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """States of the words ``[B, n, d]`` and of the gaps between them ``[B, n + 1, d]``.

        A gap has the first half of the state before it and the second half of the state after it.

        Args:
            known, shapes: ``[B, n]`` from the lexicon.
            pieces, offsets: all pieces of the batch in a row, and where those of each of the B · n words
                begin; the number ``buckets`` is padding.
            mask: ``[B, n]``, False for padding.
        """
        B, n = known.shape
        bag = F.embedding_bag(pieces, self.piece.weight, offsets, mode="sum", padding_idx=self.sizes.buckets)
        bag = bag[torch.arange(B * n, device=bag.device).view(B, n)]  # .view(B, n, -1) exports for n > 1 only
        vectors = torch.cat([self.word(known), bag + self.shape(shapes)], dim=-1)
        words = self.input(self.dropout(vectors))
        start, end = self.marks.to(words.dtype)
        states = torch.cat([start.expand(B, 1, -1), words, words.new_zeros(B, 1, words.shape[-1])], dim=1)
        lengths = mask.sum(1)
        at_end = torch.arange(n + 2, device=mask.device) == (lengths + 1)[:, None]
        states = torch.where(at_end[..., None], end, states)
        states = self.encoder(states, self._bias(lengths, n + 2, states))
        ahead, back = states.chunk(2, dim=-1)
        gaps = torch.cat([ahead[:, :-1], back[:, 1:]], dim=-1)
        return states[:, 1:-1], gaps

    def brackets(self, gaps: Tensor) -> Tensor:
        """``[B, n + 1, n + 1]``: log-odds that the words between gaps i and j are a phrase."""
        left, right = self.left(gaps), self.right(gaps)
        one = left.new_ones(*left.shape[:2], 1)
        return (
            torch.cat([left, one], -1)
            @ self.bracket.to(left.dtype)
            @ torch.cat([right, one], -1).mT
            / math.sqrt(self.sizes.span_width)
        )

    def labels(self, gaps: Tensor, spans: Tensor) -> Tensor:
        """``[spans, labels]`` scores for ``spans [spans, 3]`` of example, start and end."""
        example, start, end = spans.unbind(1)
        return self.label(torch.cat([gaps[example, start], gaps[example, end]], dim=-1))

    def _bias(self, lengths: Tensor, size: int, states: Tensor) -> Tensor:
        """Attention bias ``[B, H, size, size]``: padding is masked, distances have learned scores."""
        place = torch.arange(size, device=lengths.device)
        near = self.distance(_distance_rows(place[None, :] - place[:, None], self.sizes.distances))
        device = states.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        mask = place < (lengths + 2)[:, None]
        return additive(mask[:, None, None], dtype) + near.permute(2, 0, 1)[None].to(dtype)


def _distance_rows(distance: Tensor, rows: int) -> Tensor:
    """Rows of the table of signed distances: exact when near, logarithmic when far, clipped at 128."""
    size = distance.abs()
    exact = rows // 2
    far = exact + (torch.log(size.clamp(min=1) / exact) / math.log(128 / exact) * (rows - exact)).long()
    row = torch.where(size < exact, size, far.clamp(max=rows - 1))
    return torch.where(distance < 0, row + rows, row)
