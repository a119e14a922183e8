"""What tasks read from files: samples, and lines that are none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from treeformer.trees import Tree, TreeFormatError, read_tree_lines
from treeformer.trees.files import COMPRESSED, numbered_lines
from treeformer.trees.tree import Unary

Span = tuple[int, int]


class Sample(NamedTuple):
    """One example as its task reads it, in words and trees."""

    sentences: list[Tree]  #: one or more
    label: str | None = None  #: name of the class
    targets: Mapping[Span, int] | None = None  #: classes of phrases and words, by span of words
    target_text: str | None = None
    target_tokens: tuple[str, ...] | None = None
    group: int = 0
    place: str = ""  #: where it stands, if its label might be one that train has not


class Bad(NamedTuple):
    """A line that gives no sample: where it stands, in one or two words why, and the whole story."""

    place: str
    reason: str
    story: str


def find_file(data: Path, name: str) -> Path | None:
    """The file called ``name`` below ``data``, or of that name right in it; compressed or not."""
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
    """The lines of a file, without their ends."""
    for _, line in numbered_lines(path):
        yield line.rstrip("\n")


def tree_lines(path: Path, unary: Unary) -> Iterator[list[Tree] | Bad]:
    """For each line of a file its trees, or why it has none."""
    errors: list[TreeFormatError] = []
    for number, trees in enumerate(read_tree_lines(path, unary=unary, on_error=errors.append), start=1):
        if errors:
            error = errors.pop()
            yield Bad(f"{error.file}:{error.line}:{error.column}", "unreadable tree", error.problem)
        elif not trees:
            yield Bad(place(path, number), "no tree", "expected a tree, found an empty line")
        else:
            yield trees


def together(
    paths: Mapping[str, Path], columns: Mapping[str, Iterator[Any]]
) -> Iterator[tuple[Any, ...] | Bad]:
    """Line by line what several files hold; where some have ended, that the others go on."""
    end = object()
    iterators = list(columns.values())
    for number in count(1):
        row = tuple([next(iterator, end) for iterator in iterators])
        ended = [name for name, value in zip(columns, row, strict=True) if value is end]
        if len(ended) == len(row):
            return
        if ended:
            longer = next(name for name in columns if name not in ended)
            story = f"expected a line for each in {paths[ended[0]]}, which ends before"
            yield Bad(place(paths[longer], number), "without a counterpart", story)
        else:
            yield row


def place(path: Path, number: int) -> str:
    """A line of a file, as errors name it."""
    return f"{os.fspath(path)}:{number}"
