"""``Tree``: an immutable constituency tree as a few flat tuples.

>>> tree = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))")
>>> tree.words
('the', 'cat', 'sleeps', 'well')
>>> [(node.label, node.span) for node in tree]  # post-order; preterminals are tags; chains collapsed
[('NP', (0, 2)), ('VP', (2, 4)), ('S', (0, 4))]
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import index as as_integer
from typing import Any, Literal, NoReturn, final

from .errors import quoted
from .shape import Shape, Span, check_spans, shape_of

Unary = Literal["collapse", "keep"]

_SEPARATOR = re.compile(r"[ \t\r\n]")
_SEPARATOR_OR_BRACKET = re.compile(r"[ \t\r\n()]")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: index in post-order, label, half-open span of leaves, parent (-1: root), depth."""

    index: int
    label: str
    span: Span
    parent: int
    depth: int


@final
class Tree:
    """A constituency tree: ``words`` and ``tags`` of its leaves, ``labels`` and ``spans`` of its nodes.

    Nodes are in post-order: children before parents, and on a unary chain the lower node first. Spans are
    half-open. Part-of-speech preterminals are tags, not nodes. There is at least one leaf and one node. Trees
    are immutable and compare by value; ``len(tree)`` is the number of nodes, and iteration yields a
    :class:`Node` for each.

    >>> Tree(words=["dogs", "bark"], tags=["NNS", "VBP"], labels=["S"], spans=[(0, 2)])
    Tree.from_brackets('(S (NNS dogs) (VBP bark))', unary='keep', strip=False)
    """

    __slots__ = ("_shape", "labels", "spans", "tags", "words")

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    spans: tuple[Span, ...]
    _shape: Shape

    def __new__(
        cls, words: Iterable[str], tags: Iterable[str], labels: Iterable[str], spans: Iterable[Iterable[int]]
    ) -> "Tree":
        """The tree of these leaves and nodes; ``ValueError`` if they do not make one."""
        words = checked_strings("words", words)
        tags = checked_strings("tags", tags, brackets=False)
        labels = checked_strings("labels", labels, brackets=False)
        pairs = _checked_pairs(spans)
        if not words:
            raise ValueError("words: a tree has at least one leaf, got none")
        if len(tags) != len(words):
            raise ValueError(f"tags: {len(words)} words need {len(words)} tags, got {len(tags)}")
        if len(labels) != len(pairs):
            raise ValueError(f"labels: {len(pairs)} spans need {len(pairs)} labels, got {len(labels)}")
        check_spans(pairs, len(words))
        return trusted_tree(words, tags, labels, pairs)

    @classmethod
    def from_brackets(cls, text: str, *, unary: Unary = "collapse", strip: bool = True) -> "Tree":
        """The tree in a text of brackets, in the style of the Penn Treebank, CoreNLP or SST.

        ``unary="keep"`` keeps unary chains, ``strip=False`` keeps function tags, indices and traces.
        ``TreeFormatError`` if the text is not exactly one tree.
        """
        from .brackets import parse_tree

        return parse_tree(text, unary=unary, strip=strip)

    @property
    def parents(self) -> tuple[int, ...]:
        """Index of the parent of each node, -1 for the root."""
        return self._derived().parents

    @property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node, 0 for the root."""
        return self._derived().depths

    @property
    def leaf_parents(self) -> tuple[int, ...]:
        """Index of the lowest node above each leaf."""
        return self._derived().leaf_parents

    @property
    def leaf_depths(self) -> tuple[int, ...]:
        """Number of nodes above each leaf."""
        return self._derived().leaf_depths

    def _derived(self) -> Shape:
        """Parents and depths, computed on first use."""
        try:
            return self._shape
        except AttributeError:
            shape = shape_of(self.spans, len(self.words))
            object.__setattr__(self, "_shape", shape)
            return shape

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Node]:
        shape = self._derived()
        indices = range(len(self.labels))
        return map(Node, indices, self.labels, self.spans, shape.parents, shape.depths)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.words == other.words
            and self.spans == other.spans
            and self.labels == other.labels
            and self.tags == other.tags
        )

    def __hash__(self) -> int:
        return hash((self.words, self.tags, self.labels, self.spans))

    def __reduce__(self) -> tuple[object, ...]:
        return trusted_tree, (self.words, self.tags, self.labels, self.spans)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tree is immutable: cannot set {name!r}; make a new Tree instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tree is immutable: cannot delete {name!r}")

    def _repr_svg_(self) -> str:
        """The picture of the tree that a notebook shows."""
        from treeformer.trees.svg import to_svg

        return to_svg(self, adaptive=True)

    def __str__(self) -> str:
        from .writer import one_line

        return one_line(self)

    def __repr__(self) -> str:
        return f"Tree.from_brackets({str(self)!r}, unary='keep', strip=False)"

    def pretty(self, width: int = 100) -> str:
        """The brackets over several lines: a constituent that fits in ``width`` columns stays on one line."""
        from .writer import several_lines

        return several_lines(self, width)


_slots: dict[str, Any] = dict(vars(Tree))
_set_words = _slots["words"].__set__
_set_tags = _slots["tags"].__set__
_set_labels = _slots["labels"].__set__
_set_spans = _slots["spans"].__set__


def trusted_tree(
    words: tuple[str, ...], tags: tuple[str, ...], labels: tuple[str, ...], spans: tuple[Span, ...]
) -> Tree:
    """The tree of parts that are known to be valid; nothing is checked."""
    tree = object.__new__(Tree)
    _set_words(tree, words)
    _set_tags(tree, tags)
    _set_labels(tree, labels)
    _set_spans(tree, spans)
    return tree


def checked_trees(trees: Iterable[object]) -> Iterator[Tree]:
    """The trees one after another; ``ValueError`` for other objects, and for a single tree."""
    if isinstance(trees, Tree):
        raise ValueError(f"trees: expected trees, got one Tree, {quoted(trees)}: put it in a list")
    for position, tree in enumerate(trees):
        if not isinstance(tree, Tree):
            raise ValueError(f"trees[{position}]: expected trees, got {type(tree).__name__} {quoted(tree)}")
        yield tree


def checked_strings(name: str, values: Iterable[str], *, brackets: bool = True) -> tuple[str, ...]:
    """``values`` as a tuple of strings that a tree may hold; only words may hold ``brackets``."""
    if isinstance(values, str):
        raise ValueError(f"{name}: expected a sequence of strings, got the string {quoted(values)}")
    values = tuple(values)
    forbidden = _SEPARATOR if brackets else _SEPARATOR_OR_BRACKET
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise ValueError(f"{name}[{position}] = {quoted(value)} is not a string")
        if not value:
            raise ValueError(f"{name}[{position}] is empty: expected at least one character")
        separator = forbidden.search(value)
        if separator:
            raise ValueError(f"{name}[{position}] = {quoted(value)} holds the separator {separator[0]!r}")
        if not value.isascii() and lone_surrogate(value) >= 0:
            raise ValueError(
                f"{name}[{position}] = {quoted(value)} holds a lone surrogate, which is no UTF-8"
            )
    return values


def lone_surrogate(text: str) -> int:
    """The position of the first character that UTF-8 cannot encode, or -1."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return -1


def _checked_pairs(spans: Iterable[Iterable[int]]) -> tuple[Span, ...]:
    """``spans`` as pairs of integers."""
    pairs = []
    for position, span in enumerate(spans):
        try:
            start, end = span
            pairs.append((as_integer(start), as_integer(end)))
        except (TypeError, ValueError):
            raise ValueError(
                f"spans[{position}] = {quoted(span)} is not a pair of integers (start, end)"
            ) from None
    return tuple(pairs)
