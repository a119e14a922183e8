"""What is trained for a table: rows of cells, each cell a recipe with changes and a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

TREE, PLAIN = "Tree Transformer", "Transformer"
LABELS = {
    "transformer": PLAIN,
    "bilstm": "BiLSTM",
    "tree-lstm": "Tree-LSTM",
    "tree-transformer": TREE,
    "tree2seq": "Tree2Seq",
    "conv-seq2seq": "Conv-Seq2Seq",
    "dynamic-conv": "Dynamic Conv",
}


@dataclass(frozen=True)
class Row:
    """A line of a table: what is trained, once for each seed.

    task: the recipe, without ``.yaml``.
    label: what the line is called.
    system: which of the recipe's systems.
    name: what run folders call the changes; nothing for the recipe as it is, so that tables share runs.
    changes: ``key=value`` pairs, as for ``--set``.
    data: what the prepared corpus calls the changes, if they change the data.
    rival: the line that this one is compared with.
    splits: what the runs are evaluated on.
    attention: whether the share of attention on nodes is measured.
    """

    task: str
    label: str
    system: str
    name: str = ""
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    data: str = ""
    rival: str = TREE
    splits: tuple[str, ...] = ("test",)
    attention: bool = False

    @property
    def cells(self) -> list[Cell]:
        """One cell a seed."""
        return [Cell(self, seed) for seed in self.seeds]

    @property
    def slug(self) -> str:
        """System and changes in a word.

        >>> Row("sst5", "Transformer, sentences only", "transformer", "sentences").slug
        'transformer-sentences'
        """
        return "-".join(filter(None, (self.system, self.name)))

    @property
    def corpus(self) -> str:
        """The prepared corpus; rows that change nothing about the data share one."""
        return "-".join(filter(None, (self.task, self.data)))

    def changed(self, *changes: str) -> Row:
        """The same with more changes."""
        return replace(self, changes=(*self.changes, *changes))

    def matches(self, wanted: Sequence[str]) -> bool:
        """Whether this is one of those that are wanted: ``SYSTEM``, ``TASK`` or both; all if nothing is.

        >>> row = Row("sst5", "Tree Transformer", "tree-transformer")
        >>> row.matches(["sst5"]), row.matches(["tree-transformer/sst2"]), row.matches([])
        (True, False, True)
        """
        names = {self.task, self.system, self.slug}
        return not wanted or any(set(one.split("/")) <= names for one in wanted)


@dataclass(frozen=True)
class Cell:
    """One training, and what it is evaluated on."""

    row: Row
    seed: int

    @property
    def name(self) -> str:
        """The run folder below ``runs``.

        >>> Cell(Row("sst5", "Tree Transformer", "tree-transformer"), 2).name
        'sst5/tree-transformer-seed2'
        """
        return f"{self.row.task}/{self.row.slug}-seed{self.seed}"

    @property
    def changes(self) -> tuple[str, ...]:
        """All changes to the recipe."""
        return (f"model={self.row.system}", *self.row.changes)
