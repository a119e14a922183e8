"""Rows of tables and their trainings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TREE = "Tree Transformer"
COMPOSED = "Composed Tree Transformer"
LABELS = {
    "transformer": "Transformer",
    "bilstm": "BiLSTM",
    "tree-lstm": "Tree-LSTM",
    "tree-transformer": TREE,
    "composed-tree-transformer": COMPOSED,
    "tree2seq": "Tree2Seq",
    "conv-seq2seq": "Conv-Seq2Seq",
    "dynamic-conv": "Dynamic Conv",
    "linear": "mean of the words",
}  #: names of the systems in tables and plots
SEEDS = (1, 2, 3)
SST = ("sst5", "sst2")


@dataclass(frozen=True)
class Row:
    """A row of a table: a system of a recipe with changes, trained once for each seed.

    task: the recipe, without ``.yaml``.
    label: the name of the row in the table.
    system: one of the recipe's systems.
    name: the name of the changes in run folders; empty for the unchanged recipe, so that tables share runs.
    changes: ``key=value`` pairs, as for ``--set``.
    data: the name of the changes in the prepared corpus, if they change the data.
    rival: the label of the row that this one is compared with.
    further_rivals: labels of other rows that it is compared with as well, in a table of their own.
    splits: the splits to evaluate; the first is the main one.
    compared: the splits on which the row is compared with its rival.
    attention: whether to measure the share of attention on nodes.
    """

    task: str
    label: str
    system: str
    name: str = ""
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    data: str = ""
    rival: str = TREE
    further_rivals: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("test",)
    compared: tuple[str, ...] = ("test",)
    attention: bool = False

    @property
    def cells(self) -> list[Cell]:
        """One cell for each seed."""
        return [Cell(self, seed) for seed in self.seeds]

    @property
    def slug(self) -> str:
        """System and name of the changes.

        >>> Row("sst5", "Transformer, sentences only", "transformer", "sentences").slug
        'transformer-sentences'
        """
        return f"{self.system}-{self.name}" if self.name else self.system

    @property
    def corpus(self) -> str:
        """Name of the prepared corpus; rows with the same data share one."""
        return f"{self.task}-{self.data}" if self.data else self.task

    @property
    def all_changes(self) -> tuple[str, ...]:
        """All changes to the recipe, the choice of the system included."""
        return (f"model={self.system}", *self.changes)

    def matches(self, patterns: Sequence[str]) -> bool:
        """Whether a pattern ``SYSTEM``, ``TASK`` or ``SYSTEM/TASK`` matches; True without patterns.

        >>> row = Row("sst5", "Tree Transformer", "tree-transformer")
        >>> row.matches(["sst5"]), row.matches(["tree-transformer/sst2"]), row.matches([])
        (True, False, True)
        """
        names = {self.task, self.system, self.slug}
        return not patterns or any(set(pattern.split("/")) <= names for pattern in patterns)


@dataclass(frozen=True)
class Cell:
    """One training of a row, with one seed."""

    row: Row
    seed: int

    @property
    def name(self) -> str:
        """The run folder, relative to ``runs``.

        >>> Cell(Row("sst5", "Tree Transformer", "tree-transformer"), 2).name
        'sst5/tree-transformer-seed2'
        """
        return f"{self.row.task}/{self.row.slug}-seed{self.seed}"


@dataclass(frozen=True)
class Experiment:
    """A table or figure: its title, its rows (none if nothing is trained for it), notes for its page."""

    name: str
    title: str
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
