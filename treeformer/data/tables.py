"""Rows of tables: JSON lines, CSV, TSV or Parquet. A value that is missing or of a wrong type is named."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treeformer.configuration import printable
from treeformer.data.sample import BadLine, location
from treeformer.trees.files import COMPRESSED, numbered_lines
from treeformer.trees.tree import lone_surrogate

_LARGEST = 2**53  # floats above it cannot hold every whole number


class Row(NamedTuple):
    """One row of a table.

    location: file and line; the number of the row in Parquet.
    values: by the name of the column.
    """

    location: str
    values: dict[str, Any]


def table_rows(path: Path, columns: Sequence[str]) -> Iterator[Row | BadLine]:
    """The rows of a file; its ending decides the format.

    Args:
        path: the file. In a ``.csv`` file without commas in its header, semicolons or tabs separate fields.
        columns: names that CSV and Parquet must have. In JSON each row has names of its own.
    """
    match _format(path):
        case "json":
            yield from json_rows(path)
        case "csv":
            yield from _csv_rows(path, _delimiter(path), columns)
        case "tsv":
            yield from _csv_rows(path, "\t", columns)
        case "parquet":
            yield from _parquet_rows(path, columns)


def column_names(path: Path) -> list[str]:
    """The names of the columns of a file: its header, or all names in the objects of JSON lines."""
    match _format(path):
        case "json":
            rows = (row for row in json_rows(path) if isinstance(row, Row))
            return list(dict.fromkeys(name for row in rows for name in row.values))
        case "csv":
            return _csv_header(path, _delimiter(path))
        case "tsv":
            return _csv_header(path, "\t")
    return _parquet_columns(path)


def _format(path: Path) -> Literal["json", "csv", "tsv", "parquet"]:
    """The format of a file by its ending, without that of an archive."""
    name = path.name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    match Path(name).suffix:
        case ".jsonl" | ".json" | ".ndjson":
            return "json"
        case ".csv":
            return "csv"
        case ".tsv":
            return "tsv"
        case ".parquet":
            return "parquet"
        case other:
            raise ValueError(f"{path}: expected a file .jsonl, .csv, .tsv or .parquet, got {other!r}")


def _delimiter(path: Path) -> str:
    """What separates the fields of a CSV file: a semicolon or a tab if its header has no comma."""
    _, header = next(numbered_lines(path), (1, ""))
    found = [character for character in ",;\t" if character in header]
    return found[0] if found else ","


def _csv_header(path: Path, delimiter: str) -> list[str]:
    reader = csv.reader((line for _, line in numbered_lines(path)), delimiter=delimiter, strict=True)
    try:
        return next(reader, [])
    except csv.Error as error:
        raise ValueError(f"{location(path, 1)}: expected CSV: {error}") from error


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names: list[str] = pq.ParquetFile(path).schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: expected Parquet: {' '.join(str(error).split())}") from error
    return names


def text_value(row: Row, column: str, name: str = "text") -> str | BadLine:
    """The text in a column, or why there is none; ``name`` is what messages call it."""
    value = _present_value(row, column, name)
    if isinstance(value, BadLine):
        return value
    if not isinstance(value, str):
        return _bad(row, column, f"no {name}", f"expected a {name}, found a value of type {_type(value)}")
    if lone_surrogate(value) >= 0:
        return _bad(row, column, f"no {name}", "expected text that UTF-8 can hold, found a lone surrogate")
    return value


def class_value(row: Row, column: str) -> str | BadLine:
    """The name of the class in a column, or why there is none.

    Equal values have one name: 1, 1.0 and true are the class ``1``, 0, 0.0 and false are ``0``. Spaces around
    a name do not count.

    >>> [class_value(Row("a.jsonl:1", {"label": value}), "label") for value in (1, 1.0, True, "1", " good ")]
    ['1', '1', '1', '1', 'good']
    """
    value = _present_value(row, column, "label")
    if isinstance(value, (BadLine, str)):
        name = text_value(row, column, "label")
        return name if isinstance(name, BadLine) else name.strip()
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _LARGEST:
            return str(int(value))
        problem = f"expected a label, which is text or a whole number, found {value!r}"
    else:
        problem = f"expected a label, which is text or a whole number, found a value of type {_type(value)}"
    return _bad(row, column, "no label", problem)


def json_rows(path: Path) -> Iterator[Row | BadLine]:
    """The objects of a file of JSON lines."""
    for number, line in numbered_lines(path):
        where = location(path, number)
        try:
            values = json.loads(line)
        except RecursionError:
            yield BadLine(where, "no JSON", "expected a JSON object, found one nested too deeply")
            continue
        except ValueError as error:
            yield BadLine(where, "no JSON", f"expected a JSON object on each line: {error}")
            continue
        if isinstance(values, dict):
            yield Row(where, values)
        else:
            yield BadLine(where, "no JSON", f"expected a JSON object, found {_type(values)}")


def _csv_rows(path: Path, delimiter: str, columns: Sequence[str]) -> Iterator[Row | BadLine]:
    """The rows of a CSV file below its header; fields with line breaks make a row of several lines."""
    reader = csv.reader((line for _, line in numbered_lines(path)), delimiter=delimiter, strict=True)
    first_line = 1
    try:
        header = next(reader, [])
        _check_columns(path, header, columns)
        while True:
            first_line = reader.line_num + 1
            fields = next(reader, None)
            if fields is None:
                return
            if len(fields) == len(header):
                yield Row(location(path, first_line), dict(zip(header, fields, strict=True)))
            elif fields:
                problem = f"expected {len(header)} fields as in the header, found {len(fields)}"
                yield BadLine(location(path, first_line), "other number of fields", problem)
    except csv.Error as error:
        raise ValueError(f"{location(path, first_line)}: expected CSV: {error}") from error


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a Parquet file, of which only these columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path)
        _check_columns(path, table.schema_arrow.names, columns)
        batches = table.iter_batches(columns=list(columns))
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, values in enumerate(rows, start=1):
            yield Row(location(path, number), values)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected Parquet: {' '.join(str(error).split())}") from error


def _check_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raise ``ValueError`` unless each column occurs once in the header."""
    for column in columns:
        if header.count(column) != 1:
            found = printable(", ".join(header)) or "none"
            raise ValueError(f"{path}: expected one column {column}, found the columns {found}")


def _present_value(row: Row, column: str, name: str) -> Any:
    """The value in a column; a `BadLine` if it is missing, NaN or empty."""
    if column not in row.values:
        columns = ", ".join(row.values) or "nothing"
        return _bad(row, column, f"no {name}", f"missing, found the columns {columns}")
    value = row.values[column]
    if value is None or (isinstance(value, str) and not value.strip()):
        return _bad(row, column, f"no {name}", f"expected a {name}, found nothing")
    if isinstance(value, float) and math.isnan(value):
        return _bad(row, column, f"no {name}", f"expected a {name}, found NaN")
    return value


def _bad(row: Row, column: str, reason: str, problem: str) -> BadLine:
    return BadLine(row.location, reason, f"column {column}: {problem}")


def _type(value: object) -> str:
    return type(value).__name__
