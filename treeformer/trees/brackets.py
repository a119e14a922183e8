"""Reading and writing trees in brackets: Penn, CoreNLP and SST style.

Trees stand one a line, several on a line, or pretty-printed over many lines. Only space, tab and newline
separate, so a no-break space belongs to its word. An outermost bracket without a label, as in Penn's own
files, reads as ``ROOT``. Words are unescaped (``-LRB-`` reads as ``(``, see ``escapes.py``); tags and labels
are not.
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
from .scanner import STRIPPED, VERBATIM, MalformedError, scan_collapsed, scan_kept
from .transforms import collapse
from .transforms import strip as strip_tree
from .tree import Tree, Unary, checked_trees


@dataclass(frozen=True, slots=True)
class _Reading:
    """How to read: what to do with chains, with annotators' additions, and with text that is not trees."""

    unary: Unary
    strip: bool
    on_error: OnError | None = None

    def __post_init__(self) -> None:
        if self.unary not in ("collapse", "keep"):
            raise ValueError(f"unary = {self.unary!r}: expected 'collapse' or 'keep'")


def parse_tree(text: str, *, unary: Unary = "collapse", strip: bool = True) -> Tree:
    """The one tree in ``text``; see :meth:`Tree.from_brackets`."""
    source = Source(plain_text(text, "<text>"), "<text>", 1)
    trees = _parse(source, _Reading(unary, strip))
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
    """The trees of a file or an open text stream, one after another, in the memory of the longest.

    A path that ends in ``.xz``, ``.gz`` or ``.bz2`` is decompressed on the way. Function tags, indices and
    traces are stripped unless ``strip=False``, unary chains collapsed unless ``unary="keep"``.
    ``TreeFormatError`` where the text is not trees; with ``on_error`` that is called with the error instead,
    and the lines it concerns give no tree.

    With ``on_error`` one missing bracket does not cost the rest of the file: lines that begin with a bracket
    in column 1 and balance by themselves are trees, and if something is still open before them, that is not
    closed. Further lines of a tree must then be indented.
    """
    return _read_trees(source, _Reading(unary, strip, on_error))


def read_tree_lines(
    source: TextSource,
    *,
    unary: Unary = "collapse",
    strip: bool = True,
    on_error: OnError | None = None,
) -> Iterator[list[Tree]]:
    """For each line of a file or an open text stream the list of its trees, ``[]`` for an empty line.

    For corpora whose lines belong to the lines of another file. Options and errors as for :func:`read_trees`;
    a tree must end on the line where it begins, and a line that ``on_error`` was called for gives ``[]``.
    """
    return _read_tree_lines(source, _Reading(unary, strip, on_error))


def write_trees(trees: Iterable[Tree], target: TextSource) -> None:
    """Write trees one a line to a path or an open text stream.

    A path that ends in ``.xz``, ``.gz`` or ``.bz2`` is compressed. A file appears whole or not at all: it is
    written beside its place and then moved there.
    """
    if not isinstance(target, (str, os.PathLike)):
        target.writelines(f"{tree}\n" for tree in checked_trees(trees))
        return
    path = Path(target)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with open_for_writing(os.fspath(unfinished), path.suffix) as stream:
            write_trees(trees, stream)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read_trees(source: TextSource, reading: _Reading) -> Iterator[Tree]:
    """The trees of ``source``: what belongs together is scanned together."""
    file = source_name(source)
    with closing(numbered_lines(source)) as lines:
        for first_line, text in _balanced_texts(lines, reading.on_error is not None):
            yield from _parse(Source(text, file, first_line), reading)


def _balanced_texts(lines: NumberedLines, recover: bool) -> Iterator[tuple[int, str]]:
    """Texts whose brackets balance, each with the number of its first line; what never does comes last.

    To ``recover`` is to part what is open where a line begins with a bracket, as soon as what follows from
    there balances by itself, or at the end.
    """
    gathered: list[str] = []
    begun: list[int] = []
    depth = depth_before = 0
    first_line = 1
    for number, line in lines:
        if not gathered:
            first_line = number
        elif recover and line.startswith("("):
            begun.append(len(gathered))
            depth_before = depth
        gathered.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield first_line, "".join(gathered)
        elif begun and depth == depth_before:
            yield from _parted(gathered, begun, first_line)
        else:
            continue
        gathered.clear()
        begun.clear()
        depth = 0
    yield from _parted(gathered, begun, first_line)


def _parted(lines: list[str], begun: list[int], first_line: int) -> Iterator[tuple[int, str]]:
    """The text of ``lines``, in a new part from each line that is ``begun``, with numbers of first lines."""
    for start, end in pairwise([0, *begun, len(lines)]):
        yield first_line + start, "".join(lines[start:end])


def _read_tree_lines(source: TextSource, reading: _Reading) -> Iterator[list[Tree]]:
    """The trees of ``source`` by line."""
    file = source_name(source)
    with closing(numbered_lines(source)) as lines:
        for number, line in lines:
            yield _parse(Source(line, file, number), reading)


def _parse(source: Source, reading: _Reading) -> list[Tree]:
    """The trees of a text that should hold nothing else."""
    try:
        return _scan(source, reading)
    except MalformedError:
        error = explain(source)
    except TreeFormatError as found:
        error = found
    if reading.on_error is None:
        raise error from None
    reading.on_error(error)
    return []


def _scan(source: Source, reading: _Reading) -> list[Tree]:
    """The trees of a text, read and transformed; traces and document roots take the long way."""
    text = source.text
    caches = STRIPPED if reading.strip else VERBATIM
    if "\r" in text:
        raise MalformedError
    if reading.strip and TRACE in text:
        trees = _stripped(source, scan_kept(text, VERBATIM))
    elif reading.unary == "keep" or DOCUMENT in text:
        trees = scan_kept(text, caches)
    else:
        return scan_collapsed(text, caches)
    return trees if reading.unary == "keep" else [collapse(tree) for tree in trees]


def _stripped(source: Source, trees: list[Tree]) -> list[Tree]:
    """The trees without function tags, indices and traces."""
    stripped = []
    for index, tree in enumerate(trees):
        try:
            stripped.append(strip_tree(tree))
        except ValueError as error:
            raise source.error(str(error), tree_position(source.text, index)) from None
    return stripped
