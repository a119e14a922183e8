"""``Source``: the rows of a file or of a table in memory, and which columns hold texts and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeformer.data.sample import BadLine
from treeformer.data.tables import Row, column_names, table_rows

_TEXT_NAMES = ("text", "texts", "sentence", "review", "document", "comment", "message", "content", "body")
_LABEL_NAMES = ("label", "labels", "class", "category", "sentiment", "target", "rating", "stars", "topic")
_WORDS = 3  # a column of texts has more words in a row, on average
_CLASSES = 50  # a column of labels has fewer different values

#: Asks for a column: its purpose (text or label) and the columns that it may be.
Ask = Callable[[str, Sequence[str]], str]


@dataclass(frozen=True)
class Source:
    """All rows of a table.

    title: what messages call it: its file, or ``the table``.
    columns: the names of its columns.
    rows: the rows, and lines that are none.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[Row | BadLine]

    @classmethod
    def of(cls, data: Any) -> Source:
        """The rows of a CSV, JSON-lines or Parquet file, of a data frame, or of dictionaries.

        Data frames are those of pandas, polars and pyarrow, and datasets of Hugging Face.
        """
        if isinstance(data, (str, Path)):
            path = Path(data)
            columns = file_columns(path)
            return cls(str(path), tuple(columns), list(table_rows(path, columns)))
        rows = [
            Row(f"row {number}", dict(values)) if isinstance(values, Mapping) else _no_row(number, values)
            for number, values in enumerate(_records(data), start=1)
        ]
        names = dict.fromkeys(str(name) for row in rows if isinstance(row, Row) for name in row.values)
        return cls("the table", tuple(names), rows)

    def column(self, purpose: str, name: str | None, taken: str | None, ask: Ask | None) -> str:
        """The column of texts or labels.

        Args:
            purpose: ``text`` or ``label``.
            name: the column, if it is known.
            taken: a column that it cannot be.
            ask: is asked if neither names nor values tell; None: that is an error.
        """
        if name is not None:
            self.check_column(name)
            return name
        others = [column for column in self.columns if column != taken]
        known = _TEXT_NAMES if purpose == "text" else _LABEL_NAMES
        by_name = {column.strip().casefold(): column for column in reversed(others)}
        named = [by_name[one] for one in known if one in by_name]
        if named:
            return named[0]
        suits = self._holds_texts if purpose == "text" else self._holds_labels
        candidates = [column for column in others if suits(column)]
        if len(candidates) == 1:
            return candidates[0]
        if ask is not None and others:
            answer = ask(purpose, candidates or others)
            self.check_column(answer)
            return answer
        raise ValueError(
            f"{self.title}: which column holds the {purpose}s? Name it with --{purpose} COLUMN, in Python "
            f"{purpose}=COLUMN; the columns are {', '.join(self.columns) or 'none'}"
        )

    def check_column(self, name: str) -> None:
        """Raise ``ValueError`` unless there is a column of this name."""
        _check_column(self.title, name, self.columns)

    def check_header(self, label: str) -> None:
        """Raise ``ValueError`` if the first line of a file is a row: ``label`` is also a value."""
        if label in [value for value in self._values(label) if isinstance(value, str)]:
            raise ValueError(
                f"{self.title}:1: expected a header with the names of the columns, found a row "
                f"with the label {label!r}; add a first line such as text,label"
            )

    def _values(self, column: str) -> list[Any]:
        values = [row.values.get(column) for row in self.rows if isinstance(row, Row)]
        return [value for value in values if value is not None and value != ""]

    def _holds_texts(self, column: str) -> bool:
        """Whether the values are texts of several words."""
        values = self._values(column)
        words = [len(value.split()) for value in values if isinstance(value, str)]
        return len(words) == len(values) > 0 and sum(words) > _WORDS * len(words)

    def _holds_labels(self, column: str) -> bool:
        """Whether the values are few and occur again and again."""
        values = self._values(column)
        if not all(isinstance(value, (str, int, float)) for value in values):
            return False
        different = len(set(values))
        return 2 <= different <= min(_CLASSES, len(values) // 3)


def file_columns(path: Path, *expected: str | None) -> list[str]:
    """The columns of a file; ``ValueError`` if the file is missing, is empty or lacks an expected column."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; expected a .csv, .tsv, .jsonl or .parquet file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; expected a row for each text")
    columns = column_names(path)
    for name in expected:
        if name is not None:
            _check_column(str(path), name, columns)
    return columns


def _check_column(title: str, name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        listed = ", ".join(columns) or "none"
        raise ValueError(f"{title}: expected a column {name}, found the columns {listed}")


def _records(data: Any) -> Iterable[Any]:
    """The rows of a table in memory as dictionaries."""
    if hasattr(data, "to_dicts"):  # polars
        return list(data.to_dicts())
    if hasattr(data, "to_pylist"):  # pyarrow
        return list(data.to_pylist())
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        return list(data.astype(object).where(data.notna(), None).to_dict("records"))
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ValueError(
            f"data: expected a file, a data frame or rows as dictionaries, got {type(data).__name__}"
        )
    return data


def _no_row(number: int, values: object) -> BadLine:
    problem = f"expected a dictionary with the columns of the row, found {type(values).__name__}"
    return BadLine(f"row {number}", "no row", problem)
