"""Trees drawn as text, for a terminal or a log."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable

from .outline import columns, to_outline
from .placement import Placement, place
from .tree import Tree

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
_GAP = 2
_INVISIBLE = ("Cc", "Cs", "Zl", "Zp")

Canvas = defaultdict[int, dict[int, str]]
Paint = Callable[[int, str], str]


def _as_it_is(number: int, text: str) -> str:
    return text


def to_text(
    tree: Tree,
    *,
    paint_node: Paint = _as_it_is,
    paint_word: Paint = _as_it_is,
    width: int | None = None,
) -> str:
    """The tree as lines of text: labels joined by box characters, tags and words in the two lowest rows.

    If that is wider than ``width`` columns, it is an outline instead: a line for each phrase.

    ``paint_node`` and ``paint_word`` take an index and a label or word, and may add characters without width,
    for instance the colour codes of a terminal.

    There are two lines per level, each up to the width of all words, so the size is depth × width: a
    right-branching tree of 2,000 words takes 12 MB.

    >>> print(to_text(Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (RB well)))")))
               S
         ┌─────┴─────┐
         NP          VP
      ┌──┴─┐      ┌──┴───┐
      DT   NN    VBZ     RB
     the  cat   sleeps  well
    """
    words, tags, labels = (list(map(_printable, texts)) for texts in (tree.words, tree.tags, tree.labels))
    leaf_widths = [max(columns(word), columns(tag)) for word, tag in zip(words, tags, strict=True)]
    placement = place(tree, leaf_widths, [columns(label) for label in labels], _GAP)
    if width is not None and placement.width > width:
        return to_outline(tree, words, labels, width, paint_node, paint_word)
    bottom = 2 * placement.levels[-1]
    canvas: Canvas = defaultdict(dict)
    _draw_lines(canvas, tree, placement, bottom)
    for node, (label, center) in enumerate(zip(labels, placement.node_centers, strict=True)):
        row = bottom - 2 * placement.levels[node]
        _write(canvas, row, center, label, paint_node(node, label))
    for leaf, (word, tag, center) in enumerate(zip(words, tags, placement.leaf_centers, strict=True)):
        _write(canvas, bottom, center, tag, tag)
        _write(canvas, bottom + 1, center, word, paint_word(leaf, word))
    return "\n".join(_joined(canvas[row]) for row in range(bottom + 2))


def _draw_lines(canvas: Canvas, tree: Tree, placement: Placement, bottom: int) -> None:
    """Draw the lines from every node down to its children."""
    strokes: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    children = [
        (parent, int(center), bottom - 2 * level)
        for parent, center, level in zip(tree.parents, placement.node_centers, placement.levels, strict=True)
        if parent >= 0
    ]
    children += [
        (parent, int(center), bottom)
        for parent, center in zip(tree.leaf_parents, placement.leaf_centers, strict=True)
    ]
    for parent, column, row in children:
        joint = bottom - 2 * placement.levels[parent] + 1
        middle = int(placement.node_centers[parent])
        strokes[joint][middle] |= _UP
        strokes[joint][column] |= _DOWN
        for between in range(joint + 1, row):
            strokes[between][column] |= _UP | _DOWN
        for step in range(min(column, middle), max(column, middle)):
            strokes[joint][step] |= _RIGHT
            strokes[joint][step + 1] |= _LEFT
    for row, line in strokes.items():
        canvas[row].update((column, _LINES[stroke]) for column, stroke in line.items())


def _write(canvas: Canvas, row: int, center: float, text: str, painted: str) -> None:
    """Write ``text`` centred at ``center``; its first column holds the painted text, the others nothing."""
    width = columns(text)
    first = int(center) - (width - 1) // 2
    canvas[row].update({first + offset: "" for offset in range(width)})
    canvas[row][first] = painted


def _joined(line: dict[int, str]) -> str:
    """The columns of a line as text, with spaces in empty columns."""
    return "".join([line.get(column, " ") for column in range(max(line) + 1)])


def _printable(text: str) -> str:
    """``text`` with a visible sign for every control character, so that columns stay aligned."""
    return "".join(["\ufffd" if unicodedata.category(c) in _INVISIBLE else c for c in text])
