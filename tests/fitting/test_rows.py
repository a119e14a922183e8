"""Rows are checked before anything else, and split by class and seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.fitting.loading import Columns, FitData, load_rows
from treeformer.fitting.rows import TEST, BadRowsError, LabelledText, split_rows
from treeformer.progress import Progress


def load(data: object, test: object = None, *, seed: int = 1, drop: bool = False) -> FitData:
    """The rows of a table with the columns text and label."""
    return load_rows(
        data, test, Columns(), language="en", seed=seed, drop=drop, ask=None, progress=Progress()
    )


def rows(count: int, classes: int = 2) -> list[dict[str, object]]:
    return [{"text": f"This is text {number}.", "label": number % classes} for number in range(count)]


def test_every_bad_row_is_listed_by_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    good = [f"The film {number} is fine.,good\nThe film {number} is bad.,bad\n" for number in range(10)]
    path.write_text(
        "text,label\n" + "".join(good) + ' ,good\n"one\ntwo",\nno label\n\u200b,bad\nIt is rare.,rare\n',
        "utf-8",
    )
    with pytest.raises(BadRowsError) as caught:
        load(path)
    assert caught.value.lines == [
        f"{path}:22: column text: expected a text, found nothing",
        f"{path}:23: column label: expected a label, found nothing",
        f"{path}:25: expected 2 fields as in the header, found 1",
        f"{path}:26: column text: expected a text with words, found only invisible characters",
        f"{path}:27: column label: expected at least 3 different texts of each class, found 1 with the label "
        "'rare'",
    ]
    assert caught.value.summary.startswith(f"{path}: 5 of 25 rows cannot be used; correct them, or")
    left = load(path, drop=True)
    assert sum(map(len, left.splits.values())) == 20
    assert left.remarks == ["5 of 25 rows could not be used and were left out."]


def test_missing_values_of_a_frame_are_listed_by_row() -> None:
    frame = pd.DataFrame(rows(20))
    frame["text"] = frame["text"].astype(object)
    frame.loc[3, "text"] = float("nan")
    frame.loc[5, "text"] = None
    with pytest.raises(BadRowsError) as caught:
        load(frame)
    assert caught.value.lines == [
        "row 4: column text: expected a text, found nothing",
        "row 6: column text: expected a text, found nothing",
    ]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), min_size=30, max_size=80),
    st.integers(0, 5),
)
def test_splits_are_stratified_and_share_no_text(pairs: list[tuple[int, str]], seed: int) -> None:
    given_rows = [LabelledText(f"Text {number}", label, "") for number, label in pairs]
    first_labels = {row.key: row.label for row in reversed(given_rows)}
    assume(min(Counter(first_labels.values()).values()) >= 3)
    splits = split_rows(given_rows, seed)
    assert Counter(row for split in splits.values() for row in split) == Counter(given_rows)
    keys = [{row.key for row in split} for split in splits.values()]
    assert sum(map(len, keys)) == len(set.union(*keys))
    assert splits == split_rows(given_rows, seed)
    for name, share in ((TEST, 0.2), (DEV, 0.15)):
        held = Counter(first_labels[key] for key in {row.key for row in splits[name]})
        for label, count in Counter(first_labels.values()).items():
            assert held[label] == max(1, round(share * count))


def test_another_seed_splits_differently() -> None:
    assert load(rows(60), seed=1).splits[TEST] != load(rows(60), seed=2).splits[TEST]


def test_texts_of_a_test_file_are_not_trained_on() -> None:
    data, test = rows(40), rows(6)
    loaded = load(data, test)
    assert [row.text for row in loaded.splits[TEST]] == [row["text"] for row in test]
    assert len(loaded.splits[TRAIN]) + len(loaded.splits[DEV]) == 34
    with pytest.raises(
        BadRowsError, match="row 1: column label: expected one of the labels of train, 0, 1, found"
    ):
        load(data, [{"text": "A text.", "label": "other"}])


def test_too_little_data_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 20 labelled texts, found 12"):
        load(rows(12))
    with pytest.raises(ValueError, match="expected at least two classes, found '0' alone"):
        load(rows(30, classes=1))


def test_a_column_of_numbers_is_no_column_of_labels() -> None:
    data = [{"text": f"This is text {number}.", "label": 1000 + number} for number in range(60)]
    message = "the table: column label: expected a few classes, found 60 different values in 60 rows; name"
    with pytest.raises(ValueError, match=message):
        load(data)


def test_contradicting_labels_are_remarked() -> None:
    data = [*rows(30), {"text": "this  is TEXT 2.", "label": 1}]
    assert load(data).remarks == [
        "Texts that occur with different labels: 1. No model can get all of their rows right."
    ]
