"""IMDB: film reviews, each a document of several sentences, positive or negative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from treeformer.data.sample import BadLine, Sample, tree_lines
from treeformer.data.tables import class_value, json_rows, text_value
from treeformer.data.tasks.task import SplitFiles, Task, ToParse
from treeformer.trees.tree import Unary

_CLASSES = ("negative", "positive")


class ImdbTask(Task):
    """Sentiment of documents: JSON lines with ``text`` and ``label`` 0 or 1."""

    name: Literal["imdb"]
    hold_out: int | None = Field(
        default=20, ge=2, description="every n-th review of train goes to dev, which has no file"
    )

    documents: ClassVar[bool] = True

    @property
    def class_names(self) -> tuple[str, ...]:
        return _CLASSES

    @property
    def held_out(self) -> int | None:
        return self.hold_out

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        return ToParse(_texts(files["file"]), tokenized=False, one_per_line=False)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        return {"file": _labels(files["file"]), "trees": tree_lines(files["trees"], unary)}

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample:
        label, trees = values
        return Sample(trees, label=label)


def _texts(path: Path) -> Iterator[str | BadLine]:
    """The reviews as text; their line breaks are marked ``<br />``."""
    for row in json_rows(path):
        text = row if isinstance(row, BadLine) else text_value(row, "text")
        yield text if isinstance(text, BadLine) else text.replace("<br />", " ")


def _labels(path: Path) -> Iterator[str | BadLine]:
    """The class of each review."""
    for row in json_rows(path):
        label = row if isinstance(row, BadLine) else class_value(row, "label")
        if isinstance(label, BadLine):
            yield label
        elif label in ("0", "1"):
            yield _CLASSES[int(label)]
        else:
            yield BadLine(row.location, "no label", f"expected a label 0 or 1, found {label!r}")
