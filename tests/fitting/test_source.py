"""Rows of any table: columns are found by name and by value, or asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treeformer.data.tables import Row
from treeformer.fitting.source import Source

ROWS = [
    {"id": number, "words": f"The film number {number} is long.", "mark": "good" if number % 3 else "bad"}
    for number in range(12)
]


def written(folder: Path, ending: str) -> Path:
    """The rows in a file of this format."""
    path = folder / f"films{ending}"
    frame = pd.DataFrame(ROWS)
    match ending:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".semicolons.csv":
            frame.to_csv(path, index=False, sep=";")
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def values(source: Source) -> list[list[str]]:
    """All values as text."""
    return [list(map(str, row.values.values())) for row in source.rows if isinstance(row, Row)]


@pytest.mark.parametrize("ending", [".csv", ".semicolons.csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_has_the_same_rows(tmp_path: Path, ending: str) -> None:
    source = Source.of(written(tmp_path, ending))
    assert source.columns == ("id", "words", "mark")
    assert values(source) == values(Source.of(ROWS))


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pylist, list, iter])
def test_every_table_in_memory_has_the_same_rows(make: Any) -> None:
    source = Source.of(make(ROWS))
    assert values(source) == values(Source.of(ROWS))
    assert source.rows[2].location == "row 3"


def test_columns_are_found_by_their_values() -> None:
    source = Source.of(ROWS)
    assert source.column("text", None, None, None) == "words"
    assert source.column("label", None, "words", None) == "mark"


def test_columns_are_found_by_their_names() -> None:
    rows = [
        {"Review": "x y", "title": "a longer text than the other", "stars": number % 2} for number in range(9)
    ]
    source = Source.of(rows)
    assert source.column("text", None, None, None) == "Review"
    assert source.column("label", None, "Review", None) == "stars"


def test_a_column_that_is_not_clear_is_asked_for() -> None:
    rows = [{"id": n, "a": "one two three four", "b": "five six seven eight", "c": "y"} for n in range(9)]
    asked: list[tuple[str, Sequence[str]]] = []

    def ask(purpose: str, columns: Sequence[str]) -> str:
        asked.append((purpose, columns))
        return columns[1]

    assert Source.of(rows).column("text", None, None, ask) == "b"
    assert asked == [("text", ["a", "b"])]
    with pytest.raises(ValueError, match="expected a column e, found the columns id, a, b, c"):
        Source.of(rows).column("text", None, None, lambda *_: "e")
    message = r"the table: which column holds the texts\? .*--text COLUMN.* the columns are id, a, b, c"
    with pytest.raises(ValueError, match=message):
        Source.of(rows).column("text", None, None, None)
    with pytest.raises(ValueError, match="expected a column d, found the columns id, a, b, c"):
        Source.of(rows).column("text", "d", None, None)


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("A fine film,good\n" + 9 * "It is dull and long,bad\nIt is good,good\n", encoding="utf-8")
    source = Source.of(path)
    label = source.column("label", None, "A fine film", None)
    with pytest.raises(ValueError, match=r"films.csv:1: expected a header .* label 'good'; add a first line"):
        source.check_header(label)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"missing\.csv: no such file; expected a"):
        Source.of(tmp_path / "missing.csv")
    for name in ("empty.csv", "empty.jsonl", "empty.parquet"):
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match=rf"{name}: the file is empty; expected a row for each text"):
            Source.of(tmp_path / name)
    with pytest.raises(ValueError, match="expected a file, a data frame or rows as dictionaries, got int"):
        Source.of(3)
