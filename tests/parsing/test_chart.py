"""The chart finds the best tree: the same as trying all of them."""

from __future__ import annotations

from functools import cache

import torch
from hypothesis import given
from hypothesis import strategies as st

from treeformer.parsing.chart import best_splits, spans_of
from treeformer.trees import Tree


def best_total(scores: list[list[float]], n: int) -> float:
    """The most that nested brackets over n words can add up to, by trying every way to part every span."""

    @cache
    def best(start: int, end: int) -> float:
        own = max(scores[start][end], 0.0)
        return own + max((best(start, k) + best(k, end) for k in range(start + 1, end)), default=0.0)

    return best(0, n)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_its_brackets_nest_and_add_up_to_the_most(lengths: list[int], seed: int) -> None:
    size = max(lengths) + 1
    scores = torch.randn(len(lengths), size, size, generator=torch.Generator().manual_seed(seed)).double()
    splits = best_splits(scores)
    for index, n in enumerate(lengths):
        own = scores[index].tolist()
        spans = spans_of(splits[index].tolist(), (scores[index] > 0).tolist(), n)
        Tree(["w"] * n, ["X"] * n, ["X"] * len(spans), spans)  # refuses what does not nest or is out of order
        total = sum(own[start][end] for start, end in spans if (start, end) != (0, n))
        assert abs(total + max(own[0][n], 0) - best_total(own, n)) < 1e-9
