"""The confusion matrix and the scores of each class are those of scikit-learn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from treeformer.evaluation.classes import Confusion

CLASSES = ("bad", "fair", "good", "never")
PAIRS = st.lists(st.tuples(st.sampled_from(CLASSES[:3]), st.sampled_from(CLASSES[:3])), min_size=1)


@given(PAIRS)
def test_scores_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    labels, predicted = map(list, zip(*pairs, strict=True))
    confusion = Confusion.of(CLASSES, labels, predicted)
    assert [list(row) for row in confusion.matrix] == confusion_matrix(
        labels, predicted, labels=CLASSES
    ).tolist()
    oracle = precision_recall_fscore_support(labels, predicted, labels=CLASSES, zero_division=0)
    scores = confusion.scores.values()
    for name, expected in zip(("precision", "recall", "f1"), oracle, strict=False):
        assert [getattr(score, name) for score in scores] == pytest.approx((100 * expected).tolist())
    assert [score.count for score in scores] == oracle[3].tolist()
    present = sorted({*labels, *predicted})
    macro = precision_recall_fscore_support(
        labels, predicted, labels=present, average="macro", zero_division=0
    )
    assert confusion.macro_f1 == pytest.approx(100 * macro[2])
