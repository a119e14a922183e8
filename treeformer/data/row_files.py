"""Rows in memory as the files that a recipe names: data frames, datasets, generators of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from treeformer.data.tasks.task import Task

Rows = Any  #: a `datasets.Dataset`, a pandas frame, an Arrow table, or an iterable of rows as dictionaries


def write_rows(task: Task, tables: Mapping[str, Rows], folder: Path) -> None:
    """Write the rows of each split as the JSON lines that a recipe names.

    ``tables`` maps splits of the recipe to their rows; a `datasets.DatasetDict` does.
    """
    missing = [name for name in task.splits if name not in tables]
    if missing:
        raise ValueError(f"data: expected rows for the split {missing[0]}, got {', '.join(tables) or 'none'}")
    for name, split in task.splits.items():
        if not split.file.endswith(".jsonl"):
            raise ValueError(
                f"splits.{name}.file: expected a .jsonl file for rows in memory, got {split.file}"
            )
        path = folder / split.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for number, row in enumerate(_rows(tables[name]), start=1):
                if not isinstance(row, Mapping):
                    kind = type(row).__name__
                    raise ValueError(f"data: {name}: expected a dictionary as row {number}, got {kind}")
                file.write(json.dumps(dict(row), ensure_ascii=False, default=_plain) + "\n")


def _rows(table: Rows) -> Iterator[Any]:
    """The rows of a table."""
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas
        return iter(table.to_dict("records"))
    if hasattr(table, "to_pylist"):  # Arrow
        return iter(table.to_pylist())
    return iter(table)


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python, a tree as brackets."""
    return value.item() if hasattr(value, "item") else str(value)


def text_column(inputs: Iterable[Any]) -> Iterable[Any]:
    """The texts of a table: its column ``text``, or its only one; other inputs as they are."""
    names = inputs.keys() if isinstance(inputs, Mapping) else getattr(inputs, "column_names", None)
    names = getattr(inputs, "columns", None) if names is None else names
    if names is None:
        return inputs
    names = list(map(str, names))
    table: Any = inputs
    if "text" in names:
        return table["text"]
    if len(names) == 1:
        return table[names[0]]
    raise ValueError(
        f"inputs: expected one column of texts or trees, got a {type(inputs).__name__}; "
        f"select one of its columns: {', '.join(names):.200}"
    )
