"""Reading and writing trees in brackets: Penn, CoreNLP and SST style.

A line may hold one tree or several, and a tree may take several lines. Only space, tab and newline separate,
so a no-break space belongs to its word. An outermost bracket without a label, as in the files of the Penn
Treebank, reads as ``ROOT``. Words are unescaped (``-LRB-`` reads as ``(``, see ``escapes.py``), tags and
labels are not.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .diagnosis import Source, explain, tree_position
from .errors import OnError, TreeFormatError
from .files import NumberedLines, TextSource, numbered_lines, open_for_writing, plain_text, source_name
from .labels import DOCUMENT, TRACE
from .scanner import STRIPPED, VERBATIM, MalformedError, scan
from .transforms import collapse
from .transforms import strip as strip_tree
from .tree import Tree, Unary, checked_trees


@dataclass(frozen=True, slots=True)
class _Options:
    """How to treat unary chains, annotations, and text that is not trees."""

    unary: Unary
    strip: bool
    on_error: OnError | None = None

    def __post_init__(self) -> None:
        if self.unary not in ("collapse", "keep"):
            raise ValueError(f"unary = {self.unary!r}: expected 'collapse' or 'keep'")


def parse_tree(text: str, *, unary: Unary = "collapse", strip: bool = True) -> Tree:
    """The one tree in ``text``; see :meth:`Tree.from_brackets`."""
    source = Source(plain_text(text, "<text>"), "<text>", 1)
    trees = _parse(source, _Options(unary, strip))
    if not trees:
        raise explain(source)
    if len(trees) > 1:
        raise source.error(
            "expected one tree, found a second: read_trees reads several", tree_position(source.text, 1)
        )
    return trees[0]


def read_trees(
    source: TextSource,
    *,
    unary: Unary = "collapse",
    strip: bool = True,
    on_error: OnError | None = None,
) -> Iterator[Tree]:
    """The trees of a file or an open text stream, one after another; only one is held in memory.

    A path that ends in ``.xz``, ``.gz`` or ``.bz2`` is decompressed. Function tags, indices and traces are
    stripped unless ``strip=False``, unary chains collapsed unless ``unary="keep"``. Text that is not trees
    raises ``TreeFormatError``; ``on_error``, if given, is called with the error instead, and the lines it
    concerns give no tree.

    With ``on_error`` one missing bracket does not cost the rest of the file: reading resumes at lines that
    begin with a bracket in column 1 and balance by themselves. Further lines of a tree must then be indented.
    """
    return _read_trees(source, _Options(unary, strip, on_error))


def read_tree_lines(
    source: TextSource,
    *,
    unary: Unary = "collapse",
    strip: bool = True,
    on_error: OnError | None = None,
) -> Iterator[list[Tree]]:
    """The list of trees on each line of a file or an open text stream, ``[]`` for an empty line.

    For corpora whose lines are parallel to those of another file. Options and errors are those of
    :func:`read_trees`; a tree must end on the line where it begins, and a line with an error gives ``[]``.
    """
    return _read_tree_lines(source, _Options(unary, strip, on_error))


def write_trees(trees: Iterable[Tree], target: TextSource) -> None:
    """Write trees, one per line, to a path or an open text stream.

    A path that ends in ``.xz``, ``.gz`` or ``.bz2`` is compressed. The file is written under another name and
    then moved, so it appears whole or not at all.
    """
    if not isinstance(target, (str, os.PathLike)):
        target.writelines(f"{tree}\n" for tree in checked_trees(trees))
        return
    path = Path(target)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open_for_writing(os.fspath(unfinished), path.suffix) as stream:
            write_trees(trees, stream)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read_trees(source: TextSource, options: _Options) -> Iterator[Tree]:
    """The trees of ``source``, scanned in texts whose brackets balance."""
    file = source_name(source)
    with closing(numbered_lines(source)) as lines:
        for first_line, text in _balanced_texts(lines, options.on_error is not None):
            yield from _parse(Source(text, file, first_line), options)


def _balanced_texts(lines: NumberedLines, recover: bool) -> Iterator[tuple[int, str]]:
    """Texts whose brackets balance, each with the number of its first line; the last one may not balance.

    With ``recover`` an unbalanced text is split at lines that begin with a bracket, as soon as the lines from
    there on balance by themselves, or at the end.
    """
    gathered: list[str] = []
    splits: list[int] = []
    depth = depth_before = 0
    first_line = 1
    for number, line in lines:
        if not gathered:
            first_line = number
        elif recover and line.startswith("("):
            splits.append(len(gathered))
            depth_before = depth
        gathered.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield first_line, "".join(gathered)
        elif splits and depth == depth_before:
            yield from _split(gathered, splits, first_line)
        else:
            continue
        gathered.clear()
        splits.clear()
        depth = 0
    yield from _split(gathered, splits, first_line)


def _split(lines: list[str], splits: list[int], first_line: int) -> Iterator[tuple[int, str]]:
    """The texts of ``lines`` split before these positions, with the numbers of their first lines."""
    for start, end in pairwise([0, *splits, len(lines)]):
        yield first_line + start, "".join(lines[start:end])


def _read_tree_lines(source: TextSource, options: _Options) -> Iterator[list[Tree]]:
    """The trees of ``source`` by line."""
    file = source_name(source)
    with closing(numbered_lines(source)) as lines:
        for number, line in lines:
            yield _parse(Source(line, file, number), options)


def _parse(source: Source, options: _Options) -> list[Tree]:
    """The trees of a text; an error is raised or given to ``on_error``."""
    try:
        return _scan(source, options)
    except MalformedError:
        error = explain(source)
    except TreeFormatError as format_error:
        error = format_error
    if options.on_error is None:
        raise error from None
    options.on_error(error)
    return []


def _scan(source: Source, options: _Options) -> list[Tree]:
    """The trees of a text, read and transformed; traces and document roots take the slow path."""
    text = source.text
    if "\r" in text:
        raise MalformedError
    if options.strip and TRACE in text:
        trees = _stripped(source, scan(text, VERBATIM, collapse=False))
    else:
        reader = STRIPPED if options.strip else VERBATIM
        fast = options.unary == "collapse" and DOCUMENT not in text
        trees = scan(text, reader, collapse=fast)
        if fast:
            return trees
    return trees if options.unary == "keep" else [collapse(tree) for tree in trees]


def _stripped(source: Source, trees: list[Tree]) -> list[Tree]:
    """The trees without function tags, indices and traces."""
    stripped = []
    for index, tree in enumerate(trees):
        try:
            stripped.append(strip_tree(tree))
        except ValueError as error:
            raise source.error(str(error), tree_position(source.text, index)) from None
    return stripped
