"""Baselines learn from the rows they are given, and from nothing else."""

from __future__ import annotations

import pytest

from treeformer.fitting.baselines import majority, tf_idf
from treeformer.fitting.rows import LabelledText

CLASSES = ["bad", "good"]
TRAIN = [
    LabelledText(f"The {thing} is {'dull' if bad else 'fine'}.", CLASSES[not bad], "")
    for thing in ("plot", "cast", "end", "story", "film", "music", "song")
    for bad in (True, False)
] + [LabelledText("The light is fine.", "good", "")]
TEST = [LabelledText("A dull play.", "bad", ""), LabelledText("A fine play.", "good", "")]


def test_the_most_frequent_class_is_predicted_with_its_share() -> None:
    predictions = majority(TRAIN, TEST, CLASSES)
    assert [one.predicted for one in predictions] == ["good", "good"]
    assert [one.right for one in predictions] == [False, True]
    assert predictions[0].probabilities == pytest.approx([7 / 15, 8 / 15])


def test_tf_idf_learns_words_and_repeats() -> None:
    predictions = tf_idf(TRAIN, TEST, CLASSES, seed=1)
    assert [one.predicted for one in predictions] == ["bad", "good"]
    assert predictions == tf_idf(TRAIN, TEST, CLASSES, seed=1)
    assert all(sum(one.probabilities) == pytest.approx(1) for one in predictions)


def test_probabilities_are_in_the_order_of_the_classes() -> None:
    for classes in (CLASSES, CLASSES[::-1]):
        for one in tf_idf(TRAIN, TEST, classes, seed=1):
            assert classes[one.probabilities.index(max(one.probabilities))] == one.predicted


def test_labels_of_test_change_no_prediction() -> None:
    swapped = [row._replace(label=CLASSES[row.label == "bad"]) for row in TEST]
    for baseline in (
        lambda test: majority(TRAIN, test, CLASSES),
        lambda test: tf_idf(TRAIN, test, CLASSES, 1),
    ):
        assert [one.predicted for one in baseline(TEST)] == [one.predicted for one in baseline(swapped)]
