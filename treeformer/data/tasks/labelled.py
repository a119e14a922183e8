"""Your own data: texts or trees with a label, in JSON lines, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from treeformer.data.sample import BadLine, Sample, tree_lines
from treeformer.data.tables import class_value, table_rows, text_value
from treeformer.data.tasks.task import DEV, SplitFiles, Task, ToParse
from treeformer.trees import Tree, TreeFormatError, collapse, read_conllu, read_trees
from treeformer.trees.tree import Unary


class LabelledTask(Task):
    """Classes of texts. Files have a column of texts or of trees; the labels of train are the classes."""

    name: Literal["labelled"]
    text: str = Field(default="text", description="name of the column of texts")
    tree: str | None = Field(
        default=None, description="column of trees in brackets or CoNLL-U, instead of texts"
    )
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
        return ToParse(self._texts_of(files["file"]), tokenized=False, one_per_line=False)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        columns: dict[str, Iterator[Any]] = {"file": self._labels(files["file"])}
        if self.tree is None:
            columns["trees"] = tree_lines(files["trees"], unary)
        else:
            columns["tree column"] = _trees(files["file"], self.tree, unary)
        return columns

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample:
        labelled, trees = values
        return Sample(trees, label=labelled.name, location=labelled.location)

    def _texts_of(self, path: Path) -> Iterator[str | BadLine]:
        """The text of each row."""
        for row in table_rows(path, [self.text, self.label]):
            yield row if isinstance(row, BadLine) else text_value(row, self.text)

    def _labels(self, path: Path) -> Iterator[_Label | BadLine]:
        """The label of each row."""
        for row in table_rows(path, [self.label]):
            name = row if isinstance(row, BadLine) else class_value(row, self.label)
            yield name if isinstance(name, BadLine) else _Label(row.location, name)


class _Label(NamedTuple):
    location: str
    name: str


def _trees(path: Path, column: str, unary: Unary) -> Iterator[list[Tree] | BadLine]:
    """The trees in the brackets of each row."""
    for row in table_rows(path, [column]):
        text = row if isinstance(row, BadLine) else text_value(row, column, "tree")
        if isinstance(text, BadLine):
            yield text
            continue
        try:
            yield _trees_in(text, unary)
        except TreeFormatError as error:
            problem = f"column {column}: {error.problem}, at character {error.column} of the tree"
            yield BadLine(row.location, "unreadable tree", problem)


def _trees_in(text: str, unary: Unary) -> list[Tree]:
    """The trees of a text in brackets or in CoNLL-U, whose columns are separated by tabs."""
    if "\t" not in text or text.lstrip().startswith("("):
        return list(read_trees(StringIO(text), unary=unary))
    trees = list(read_conllu(StringIO(text)))
    return [collapse(tree) for tree in trees] if unary == "collapse" else trees
