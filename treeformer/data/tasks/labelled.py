"""Your own data: texts or trees with a label, in JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from treeformer.data.sample import BadLine, Sample, location, tree_lines
from treeformer.data.tasks.task import DEV, SplitFiles, Task, ToParse
from treeformer.data.tokens import one_line
from treeformer.trees import Tree, TreeFormatError, read_trees
from treeformer.trees.files import COMPRESSED, numbered_lines
from treeformer.trees.tree import Unary

Row = dict[str, Any]


class LabelledTask(Task):
    """Classes of texts. Files have a column of texts or of trees; the labels of train are the classes."""

    name: Literal["labelled"]
    text: str = Field(default="text", description="name of the column of texts")
    tree: str | None = Field(default=None, description="column of trees in brackets, instead of texts")
    label: str = Field(default="label", description="name of the column of classes")
    hold_out: int | None = Field(default=None, ge=2, description="every n-th example of train goes to dev")

    @model_validator(mode="after")
    def _one_dev(self) -> LabelledTask:
        if self.hold_out is not None and DEV in self.splits:
            raise ValueError("hold_out: not allowed, because dev has a file of its own")
        return self

    @property
    def held_out(self) -> int | None:
        return self.hold_out

    @property
    def trees_inside(self) -> bool:
        return self.tree is not None

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        texts = (str(row.get(self.text) or "") for _, row in _rows(files["file"]))
        lines = (one_line(text) for text in texts)
        return ToParse(lines, tokenized=False, one_per_line=False)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        columns: dict[str, Iterator[Any]] = {"file": _rows(files["file"])}
        if self.tree is None:
            columns["trees"] = tree_lines(files["trees"], unary)
        else:
            columns["tree column"] = self._trees_inside(files["file"], unary)
        return columns

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine:
        (line, row), trees = values
        where = location(files["file"], line)
        label = row.get(self.label)
        if label is None or label == "":
            return BadLine(where, "no label", self._missing(self.label, row))
        return Sample(trees, label=str(label), location=where)

    def _trees_inside(self, path: Path, unary: Unary) -> Iterator[list[Tree] | BadLine]:
        """The trees in the brackets of each row."""
        for number, row in _rows(path):
            where, text = location(path, number), row.get(str(self.tree))
            if not text:
                yield BadLine(where, "no tree", self._missing(str(self.tree), row))
                continue
            try:
                yield list(read_trees(StringIO(str(text)), unary=unary))
            except TreeFormatError as error:
                problem = f"{error.problem}, at character {error.column} of the tree"
                yield BadLine(where, "unreadable tree", problem)

    def _missing(self, column: str, row: Row) -> str:
        columns = ", ".join(map(str, row)) or "nothing"
        return f"expected a value in the column {column}, found the columns {columns}"


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a file, each with its line or row number; the suffix decides the format."""
    name = path.name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    match Path(name).suffix:
        case ".jsonl" | ".json" | ".ndjson":
            yield from _json_rows(path)
        case ".csv":
            yield from _csv_rows(path, ",")
        case ".tsv":
            yield from _csv_rows(path, "\t")
        case ".parquet":
            yield from _parquet_rows(path)
        case other:
            raise ValueError(f"{path}: expected a file .jsonl, .csv, .tsv or .parquet, got {other!r}")


def _json_rows(path: Path) -> Iterator[tuple[int, Row]]:
    for number, line in numbered_lines(path):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{location(path, number)}: expected a JSON object on each line: {error}"
            ) from error
        if not isinstance(row, dict):
            raise ValueError(f"{location(path, number)}: expected a JSON object, found {type(row).__name__}")
        yield number, row


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, Row]]:
    reader = csv.DictReader((line for _, line in numbered_lines(path)), delimiter=delimiter)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{location(path, reader.line_num)}: expected CSV: {error}") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path)
        rows = chain.from_iterable(batch.to_pylist() for batch in table.iter_batches())
        yield from enumerate(rows, start=1)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: expected Parquet: {error}") from error
