"""Accuracies and how sure they are."""

from __future__ import annotations

import pytest

from treeformer.evaluation.accuracy import Accuracy


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [  # Newcombe (1998), table I, method 3; the last mirrors the third
        (81, 263, 25.53, 36.62),
        (15, 148, 6.24, 16.05),
        (0, 20, 0.0, 16.11),
        (1, 29, 0.61, 17.18),
        (20, 20, 83.89, 100.0),
    ],
)
def test_intervals_are_those_of_wilson(right: int, count: int, low: float, high: float) -> None:
    assert Accuracy(right, count).interval == pytest.approx((low, high), abs=0.005)


def test_answers_that_depend_on_each_other_have_no_interval() -> None:
    assert Accuracy(3, 4, independent=False).interval is None
    assert Accuracy(0, 0).interval is None
    assert Accuracy(3, 4).percent == 75
