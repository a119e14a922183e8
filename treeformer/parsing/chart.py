"""The best tree over a sentence: brackets chosen so that they nest and their scores add up to the most."""

from __future__ import annotations

import torch
from torch import Tensor


def best_splits(scores: Tensor) -> Tensor:
    """``[B, n + 1, n + 1]`` integers: for each span (i, j) the place where its best tree parts in two.

    ``scores [B, n + 1, n + 1]`` are what a bracket over words i to j adds; one that adds nothing may be left
    out, so it counts as 0 at least. Charts run over all sentences at once, shortest spans first.
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
        own = gain[:, starts, starts + width]
        if width > 1:
            halves = by_start[:, :count, 1:width] + by_end[:, width:, 1:width].flip(-1)
            best, part = halves.max(-1)
            own = own + best
            splits[:, starts, starts + width] = starts + part + 1
        by_start[:, :count, width] = own
        by_end[:, width:, width] = own
    return splits


def spans_of(splits: list[list[int]], positive: list[list[bool]], n: int) -> list[tuple[int, int]]:
    """Spans of the best tree over n words in post-order: the whole, and all others that are ``positive``."""
    spans: list[tuple[int, int]] = []
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
