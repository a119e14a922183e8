"""The chart gives the best tree, as does trying all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from treeformer.parsing.chart import best_splits, spans_of
from treeformer.parsing.torch_network import best_splits_on_device
from treeformer.trees import Tree


def best_total(scores: list[list[float]], n: int) -> float:
    """The largest total of nested brackets over n words, by trying every split of every span."""

    @cache
    def best(start: int, end: int) -> float:
        bracket = max(scores[start][end], 0.0)
        return bracket + max((best(start, k) + best(k, end) for k in range(start + 1, end)), default=0.0)

    return best(0, n)


@pytest.mark.parametrize(
    "split", [best_splits, lambda scores: best_splits_on_device(torch.from_numpy(scores))]
)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_its_brackets_nest_and_have_the_largest_total(
    split: Callable[[np.ndarray], Any], lengths: list[int], seed: int
) -> None:
    size = max(lengths) + 1
    scores = np.random.default_rng(seed).standard_normal((len(lengths), size, size))
    splits = split(scores)
    for index, n in enumerate(lengths):
        table = scores[index].tolist()
        spans = spans_of(splits[index].tolist(), (scores[index] > 0).tolist(), n)
        Tree(
            ["w"] * n, ["X"] * n, ["X"] * len(spans), spans
        )  # refuses spans that do not nest or are out of order
        total = sum(table[start][end] for start, end in spans if (start, end) != (0, n))
        assert abs(total + max(table[0][n], 0) - best_total(table, n)) < 1e-9
