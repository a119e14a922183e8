"""The rows of a fit: read, checked, and split."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from treeformer.fitting.rows import (
    BadRowsError,
    Checked,
    Splits,
    checked_rows,
    contradictions,
    json_lines,
    split_rows,
    without_rare,
    without_unknown,
)
from treeformer.fitting.source import Ask, Source
from treeformer.progress import Progress

_FEWEST = 20  # rows
_CLASSES = 20  # more are classes only if each has several rows


class Columns(NamedTuple):
    """Names of the columns of texts and labels; None: to be found."""

    text: str | None = None
    label: str | None = None


class FitData(NamedTuple):
    """The rows of a fit in their splits.

    title: what a report calls the data.
    splits: train, dev and test.
    remarks: sentences about rows that were left out or contradict each other.
    """

    title: str
    splits: Splits
    remarks: Sequence[str]

    def contents(self) -> dict[str, bytes]:
        """The content of the file of each split."""
        return {name: json_lines(rows) for name, rows in self.splits.items()}

    def digest(self) -> str:
        """The SHA-256 of all splits."""
        return hashlib.sha256(b"\0".join(self.contents().values())).hexdigest()


def load_rows(
    data: Any,
    test: Any,
    columns: Columns,
    *,
    language: str,
    seed: int,
    drop: bool,
    ask: Ask | None,
    progress: Progress,
) -> FitData:
    """The splits of a table; `BadRowsError` lists all rows that cannot be used, if they are not left out.

    Args:
        data: the table: a file or rows in memory.
        test: a table of rows for the test; None: part of ``data``.
        columns: the columns of texts and labels.
        language: of the texts.
        seed: decides the split.
        drop: leave out rows that cannot be used.
        ask: asks for a column that cannot be found.
        progress: receives a line about the columns.
    """
    source = Source.of(data)
    text = source.column("text", columns.text, columns.label, ask)
    label = source.column("label", columns.label, text, ask)
    source.check_header(label)
    progress.log(f"{source.title}: texts in the column {text}, labels in the column {label}")
    checked = checked_rows(source, text, label, language)
    _check_classes(source, label, checked)
    checked = without_rare(checked, label, fewest=3 if test is None else 2)
    bad, rows, tested = checked.bad, len(source.rows), None
    if test is not None:
        other = Source.of(test)
        for name in (text, label):
            other.check_column(name)
        classes = {row.label for row in checked.good}
        tested = without_unknown(checked_rows(other, text, label, language), label, classes)
        bad, rows = [*bad, *tested.bad], rows + len(other.rows)
    if bad and not drop:
        raise BadRowsError(source.title, bad, rows)
    _check_enough(source, label, checked)
    splits = split_rows(checked.good, seed, None if tested is None else tested.good)
    return FitData(source.title, splits, _remarks(len(bad), rows, splits))


def _check_classes(source: Source, label: str, checked: Checked) -> None:
    """Raise ``ValueError`` if a column has so many values that it cannot hold classes."""
    different = len({row.label for row in checked.good})
    if different > _CLASSES and different > len(checked.good) // 3:
        raise ValueError(
            f"{source.title}: column {label}: expected a few classes, found {different:,} different "
            f"values in {len(checked.good):,} rows; name another column with --label, in Python label=COLUMN"
        )


def _check_enough(source: Source, label: str, checked: Checked) -> None:
    """Raise ``ValueError`` if nothing can be learnt or measured with these rows."""
    if len(checked.good) < _FEWEST:
        raise ValueError(
            f"{source.title}: expected at least {_FEWEST} labelled texts, found {len(checked.good)}; "
            "a few hundred are a good start"
        )
    classes = sorted({row.label for row in checked.good})
    if len(classes) < 2:
        raise ValueError(
            f"{source.title}: column {label}: expected at least two classes, found {classes[0]!r} alone"
        )


def _remarks(bad: int, rows: int, splits: Splits) -> list[str]:
    """Sentences about rows that a reader of the report should know of."""
    remarks = []
    if bad:
        remarks.append(f"{bad:,} of {rows:,} rows could not be used and were left out.")
    both = contradictions(row for split in splits.values() for row in split)
    if both:
        remarks.append(
            f"Texts that occur with different labels: {both:,}. No model can get all of their rows right."
        )
    return remarks
