"""Trees as outlines: a line for each phrase, for trees that are wider than the terminal."""

from collections.abc import Callable, Sequence

from .placement import character_width
from .tree import Tree

Paint = Callable[[int, str], str]
_PLACE = 20  # columns, or half of the width, that are left for words however deep a phrase is


def to_outline(
    tree: Tree, words: Sequence[str], labels: Sequence[str], width: int, paint_node: Paint, paint_word: Paint
) -> str:
    """The tree as lines of at most ``width`` columns: each phrase below the phrase that it is part of.

    A phrase that fits on its line is written out there; of one that does not, the words have lines of their
    own. A label or word that is wider than the line makes it longer.

    Args:
        tree: the tree.
        words, labels: its words and labels without invisible characters.
        width: columns of the terminal.
        paint_node, paint_word: see `treeformer.trees.to_text`.
    """
    children = _children(tree)
    lines = []
    waiting: list[tuple[str, str, int]] = [("", "", len(tree) - 1)]  # prefix of its parts, branch, part
    while waiting:
        prefix, branch, part = waiting.pop()
        start = _shortened(prefix + branch, width)
        if part < 0:
            leaf = ~part
            lines.append(f"{start}{tree.tags[leaf]}  {paint_word(leaf, words[leaf])}")
            continue
        first, last = tree.spans[part]
        used = columns(start) + columns(labels[part]) + 2
        fits = used + columns(" ".join(words[first:last])) <= width
        text = " ".join(paint_word(leaf, words[leaf]) for leaf in range(first, last))
        lines.append(start + paint_node(part, labels[part]) + (f"  {text}" if fits else ""))
        below = [child for child in children[part] if child >= 0 or not fits]
        inner = prefix + {"": "", "├ ": "│ ", "└ ": "  "}[branch]
        branches = ["└ ", *["├ "] * (len(below) - 1)]
        waiting += [(inner, *pair) for pair in zip(branches, reversed(below), strict=False)]
    return "\n".join(lines)


def columns(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(map(character_width, text))


def _children(tree: Tree) -> list[list[int]]:
    """The parts directly below each node, from left to right; a leaf as the complement of its number."""
    children: list[list[tuple[int, int]]] = [[] for _ in tree.labels]
    for node, (parent, (start, _)) in enumerate(zip(tree.parents, tree.spans, strict=True)):
        if parent >= 0:
            children[parent].append((start, node))
    for leaf, parent in enumerate(tree.leaf_parents):
        children[parent].append((leaf, ~leaf))
    return [[part for _, part in sorted(parts)] for parts in children]


def _shortened(prefix: str, width: int) -> str:
    """The prefix of a line, its beginning replaced by ``…`` if it leaves no place for words."""
    most = max(width - min(_PLACE, width // 2), 2)
    return prefix if len(prefix) <= most else f"…{prefix[len(prefix) - most + 1 :]}"
