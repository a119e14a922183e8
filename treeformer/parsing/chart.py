"""The best tree over a sentence: the nested brackets with the largest total score (CKY)."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.trees import Span


def best_splits(scores: Tensor) -> Tensor:
    """The best split point of each span (i, j), as ``[B, n + 1, n + 1]`` integers.

    ``scores [B, n + 1, n + 1]`` are those of brackets over words i to j. Brackets with negative scores are
    left out and count as 0. All sentences are computed at once, shortest spans first.
    """
    B, size, _ = scores.shape
    n = size - 1
    gain = scores.clamp(min=0)
    by_start = torch.zeros(B, size, size, dtype=scores.dtype, device=scores.device)  # [b, i, width]
    by_end = torch.zeros_like(by_start)  # [b, j, width]
    splits = torch.zeros(B, size, size, dtype=torch.long, device=scores.device)
    for width in range(1, n + 1):
        count = n - width + 1
        starts = torch.arange(count, device=scores.device)
        total = gain[:, starts, starts + width]
        if width > 1:
            halves = by_start[:, :count, 1:width] + by_end[:, width:, 1:width].flip(-1)
            best, offset = halves.max(-1)
            total = total + best
            splits[:, starts, starts + width] = starts + offset + 1
        by_start[:, :count, width] = total
        by_end[:, width:, width] = total
    return splits


def spans_of(splits: list[list[int]], positive: list[list[bool]], n: int) -> list[Span]:
    """Spans of the best tree over n words in post-order: the whole, and all others that are ``positive``."""
    spans: list[Span] = []
    stack = [(0, n, False)]
    while stack:
        start, end, done = stack.pop()
        if done:
            spans.append((start, end))
            continue
        if positive[start][end] or end - start == n:
            stack.append((start, end, True))
        if end - start > 1:
            middle = splits[start][end]
            stack += [(middle, end, False), (start, middle, False)]
    return spans
