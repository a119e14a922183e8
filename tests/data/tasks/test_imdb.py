"""IMDB: reviews are documents."""

from __future__ import annotations

from pathlib import Path

from tests.data import corpora
from tests.data.corpora import (
    node_labels,
    prepared,
    recipe,
    words,
    write,
)


def task_of(**more: object) -> dict[str, object]:
    part = {"file": "train.jsonl", "trees": "train.trees"}
    return {"name": "imdb", "splits": {"train": part, "test": part}, **more}


def files(folder: Path) -> Path:
    return write(folder, train__jsonl=corpora.REVIEWS, train__trees=corpora.REVIEW_TREES)


def test_every_review_is_a_document(tmp_path: Path) -> None:
    corpus = prepared(recipe(task_of(hold_out=None)), files(tmp_path / "data"), tmp_path / "out")
    assert [node_labels(corpus, index)[-1] for index in range(4)] == ["DOC"] * 4
    assert corpus["train"].labels.tolist() == [1, 0, 1, 0]  # type: ignore[union-attr]


def test_some_reviews_of_train_are_dev(tmp_path: Path) -> None:
    corpus = prepared(recipe(task_of(hold_out=2)), files(tmp_path / "data"), tmp_path / "out")
    assert [words(corpus, index, "dev")[0] for index in range(2)] == ["<unk>", "I"]  # train knows no Dull
    assert (len(corpus["train"]), len(corpus["dev"]), len(corpus["test"])) == (2, 2, 4)


def test_reviews_without_trees_are_parsed_without_their_line_breaks(tmp_path: Path) -> None:
    data = files(tmp_path / "data")
    (data / "train.trees").unlink()
    corpus = prepared(recipe(task_of(hold_out=None)), data, tmp_path / "out")
    assert words(corpus, 0) == ["A", "fine", "film", ".", "I", "laughed", "."]
