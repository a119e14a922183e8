"""The best tree over a sentence: the nested brackets with the largest total score (CKY)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeformer.trees import Span


def best_splits(scores: np.ndarray) -> np.ndarray:
    """The best split point of each span (i, j), as ``[B, n + 1, n + 1]`` integers.

    ``scores [B, n + 1, n + 1]`` are those of brackets over words i to j. Brackets with negative scores are
    left out and count as 0. All sentences are computed at once, shortest spans first.
    """
    B, size, _ = scores.shape
    n = size - 1
    gain = np.maximum(scores, 0)
    by_start = np.zeros((B, size, size), scores.dtype)  # [b, i, width]
    by_end = np.zeros_like(by_start)  # [b, j, size - width], so that both halves of a split run the same way
    splits = np.zeros((B, size, size), np.int64)
    for width in range(1, n + 1):
        count = n - width + 1
        starts = np.arange(count)
        total = gain[:, starts, starts + width]
        if width > 1:
            halves = by_start[:, :count, 1:width] + by_end[:, width:, size - width + 1 : size]
            offset = halves.argmax(-1)
            total = total + np.take_along_axis(halves, offset[..., None], -1)[..., 0]
            splits[:, starts, starts + width] = starts + offset + 1
        by_start[:, :count, width] = total
        by_end[:, width:, size - width] = total
    return splits


def spans_of(splits: Sequence[Sequence[int]], positive: Sequence[Sequence[bool]], n: int) -> list[Span]:
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
