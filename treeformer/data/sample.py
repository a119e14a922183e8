"""What tasks read from files: samples, and lines that are none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from treeformer.trees import Tree, TreeFormatError, read_tree_lines
from treeformer.trees.files import numbered_lines
from treeformer.trees.tree import Unary

Span = tuple[int, int]
COMPRESSED = (".xz", ".gz", ".bz2")


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


def together(paths: Mapping[str, Path], columns: Mapping[str, Iterator[Any]]) -> Iterator[tuple[Any, ...]]:
    """Line by line what several files hold; ``ValueError`` if one is longer than another."""
    end = object()
    number = 0
    iterators = list(columns.values())
    while True:
        number += 1
        row = tuple([next(iterator, end) for iterator in iterators])
        ended = [value is end for value in row]
        if all(ended):
            return
        if any(ended):
            names = dict(zip(columns, ended, strict=True))
            short = next(paths[name] for name, over in names.items() if over)
            long = next(paths[name] for name, over in names.items() if not over)
            raise ValueError(
                f"{os.fspath(short)} ends after line {number - 1}, but {os.fspath(long)} goes on: "
                "expected files of as many lines"
            )
        yield row


def place(path: Path, number: int) -> str:
    """A line of a file, as errors name it."""
    return f"{os.fspath(path)}:{number}"
