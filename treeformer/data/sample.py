"""Samples: the examples of a corpus as words and trees, read line by line from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from treeformer.trees import Tree, TreeFormatError, collapse, read_conllu, read_tree_lines
from treeformer.trees.files import COMPRESSED, numbered_lines
from treeformer.trees.shape import Span
from treeformer.trees.tree import Unary

_END = object()


class Sample(NamedTuple):
    """One example in words and trees."""

    sentences: list[Tree]  #: one or more
    label: str | None = None  #: name of the class
    targets: Mapping[Span, int] | None = None  #: classes of words and phrases, by span of words
    target_text: str | None = None
    target_tokens: tuple[str, ...] | None = None
    group: int = 0
    location: str = ""  #: file and line, named if train does not have the label


class BadLine(NamedTuple):
    """A line without a sample.

    location: file and line.
    reason: one or two words, by which dropped lines are counted.
    problem: what was expected and what was found.
    """

    location: str
    reason: str
    problem: str


class BadLines:
    """The bad lines of a file: counted, and an error if they are not dropped or if no line is good."""

    SHOWN = 3

    def __init__(self, *, drop: bool) -> None:
        self.drop = drop
        self.reasons: Counter[str] = Counter()
        self._first: list[BadLine] = []

    def add(self, line: BadLine) -> None:
        """Count a bad line."""
        self.reasons[line.reason] += 1
        if len(self._first) < self.SHOWN:
            self._first.append(line)

    def check(self, good: int) -> None:
        """Raise ``ValueError`` with the first bad lines and their number; ``good`` lines were good."""
        if not self._first or (self.drop and good):
            return
        message = "; ".join(f"{line.location}: {line.problem}" for line in self._first)
        total = self.reasons.total()
        if total > 1:
            message += f"; {total:,} bad lines in all"
        if good:
            message += f"; drop: true skips {'it' if total == 1 else 'them'}"
        else:
            message += ", and no good one"
        raise ValueError(message)


def find_file(data: Path, name: str) -> Path | None:
    """The file called ``name`` below ``data``, or its last part directly in ``data``; compressed or not."""
    bare = name
    for ending in COMPRESSED:
        bare = bare.removesuffix(ending)
    for path in (data / bare, data / Path(bare).name):
        for ending in ("", *COMPRESSED):
            candidate = path.with_name(path.name + ending)
            if candidate.is_file():
                return candidate
    return None


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a file without their line ends."""
    for _, line in numbered_lines(path):
        yield line.rstrip("\n")


def tree_lines(path: Path, unary: Unary) -> Iterator[list[Tree] | BadLine]:
    """The trees of each line of a file of brackets, or of each sentence of a file in CoNLL-U."""
    if ".conllu" in path.suffixes:
        yield from _dependency_trees(path, unary)
        return
    errors: list[TreeFormatError] = []
    for number, trees in enumerate(read_tree_lines(path, unary=unary, on_error=errors.append), start=1):
        if errors:
            yield _unreadable(errors.pop())
        elif not trees:
            yield BadLine(location(path, number), "no tree", "expected a tree, found an empty line")
        else:
            yield trees


def _dependency_trees(path: Path, unary: Unary) -> Iterator[list[Tree] | BadLine]:
    """The tree of each sentence of a file in CoNLL-U."""
    errors: list[TreeFormatError] = []
    for tree in read_conllu(path, on_error=errors.append):
        yield from map(_unreadable, errors)
        errors.clear()
        yield [collapse(tree) if unary == "collapse" else tree]
    yield from map(_unreadable, errors)


def _unreadable(error: TreeFormatError) -> BadLine:
    """The bad line of a tree that cannot be read."""
    return BadLine(f"{error.file}:{error.line}:{error.column}", "unreadable tree", error.problem)


class AlignedLine(NamedTuple):
    """The values of one line in files that belong together.

    location: file and line.
    number: of the line.
    values: one of each column.
    bad: why the line has no sample, None if it may have one.
    """

    location: str
    number: int
    values: tuple[Any, ...]
    bad: BadLine | None


def aligned_lines(files: Mapping[str, Path], columns: Mapping[str, Iterator[Any]]) -> Iterator[AlignedLine]:
    """The lines of several files that belong together.

    A line is bad if one of its values is a `BadLine`, or if one of the files has ended. The value of the
    first column may have an attribute ``location``, for rows that are not lines.

    Args:
        files: their paths, by role.
        columns: the lines of each file, by role; a role without a file is a column of ``file``.
    """
    for number, row in enumerate(zip_longest(*columns.values(), fillvalue=_END), start=1):
        where = getattr(row[0], "location", None) or location(files["file"], number)
        ended = [role for role, value in zip(columns, row, strict=True) if value is _END]
        bad = next((value for value in row if isinstance(value, BadLine)), None)
        if ended:
            longer = [files.get(role, files["file"]) for role in columns if role not in ended]
            shorter = files.get(ended[0], f"the {ended[0]} of {files['file']}")
            problem = f"expected a line for each in {shorter}, which ends before"
            bad = BadLine(location(longer[0], number), "without a counterpart", problem)
        yield AlignedLine(where, number, row, bad)


def location(path: Path, number: int) -> str:
    """A line of a file, as errors name it."""
    return f"{path}:{number}"
