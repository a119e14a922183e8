"""The finding of a report says which system is better, and when that may be chance."""

from __future__ import annotations

import pytest

from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.classes import Confusion
from treeformer.evaluation.significance import Comparison
from treeformer.fitting.report import MODEL, TF_IDF, WITHOUT_TREES, SystemScores, finding

CONFUSION = Confusion.of(["a", "b"], ["a"], ["a"])


def scores(right: int, difference: float | None = None, p: float = 0.0) -> SystemScores:
    """Scores of 100 texts, and the lead of the tree model over this system."""
    against = None if difference is None else Comparison(right + difference, right, None, None, p)
    return SystemScores(Accuracy(right, 100), CONFUSION, against)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (scores(60, 20.0, 0.01), "20.0 points more than TF-IDF with logistic regression."),
        (scores(76, 4.0, 0.3), "+4.0 points against TF-IDF with logistic regression, which may be chance."),
        (
            scores(90, -10.0, 0.02),
            "10.0 points less than TF-IDF with logistic regression, which is the better choice here.",
        ),
    ],
)
def test_the_finding_compares_with_tf_idf(other: SystemScores, said: str) -> None:
    start = "The tree model labels 80.0 % of the test texts correctly: "
    assert finding({MODEL: scores(80), TF_IDF: other}) == start + said


def test_the_finding_compares_with_the_encoder_alone_where_there_is_one() -> None:
    with_encoder = {MODEL: scores(80), TF_IDF: scores(60, 20.0), WITHOUT_TREES: scores(85, -5.0, 0.03)}
    assert finding(with_encoder).endswith(
        "20.0 points more than TF-IDF with logistic regression, and 5.0 points less than the same encoder "
        "without trees, which is the better choice here."
    )
