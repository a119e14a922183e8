"""Random trees and texts for property tests."""

from collections.abc import Sequence

from hypothesis import strategies as st

from treeformer.trees import Tree
from treeformer.trees.shape import post_order

SEPARATORS = " \t\r\n"

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=SEPARATORS)
_FRAGMENTS = (
    "-LRB-",
    "-RRB-",
    "-LRB",
    "RRB-",
    "RB-",
    "-",
    "(",
    ")",
    "\\",
    "a",
    "\u00a0",
    "8\u00a01\\/2",
    "猫",
    "🙂",
)


def words() -> st.SearchStrategy[str]:
    """Words: plain ones, any characters but separators, and pieces of escapes in every order."""
    plain = st.sampled_from(["the", "cat", ".", "<&\"'>", "e\u0301", "\\/", "\\*"])
    fragments = st.lists(st.sampled_from(_FRAGMENTS), min_size=1, max_size=6).map("".join)
    return plain | fragments | st.text(_CHARACTERS, min_size=1, max_size=5)


def labels() -> st.SearchStrategy[str]:
    """Labels and tags: those of treebanks, those with a special meaning, and any allowed characters."""
    known = ["S", "NP", "VP", "NP-SBJ-1", "NP=2", "PRT|ADVP", "@S", "3", "PRP$", "-LRB-", "-NONE-", "DOC"]
    allowed = st.characters(exclude_categories=["Cs"], exclude_characters=SEPARATORS + "()")
    return st.sampled_from(known) | st.text(allowed, min_size=1, max_size=3)


@st.composite
def trees(
    draw: st.DrawFn,
    *,
    max_leaves: int = 12,
    unary: bool = True,
    max_arity: int = 30,
    leaf_words: st.SearchStrategy[str] | None = None,
    leaf_tags: st.SearchStrategy[str] | None = None,
    node_labels: st.SearchStrategy[str] | None = None,
) -> Tree:
    """Trees of up to ``max_leaves`` leaves; with ``unary`` also chains, and nodes over one leaf."""
    count = draw(st.integers(1, max_leaves))
    parts = [(leaf, leaf + 1) for leaf in range(count)]
    spans: list[tuple[int, int]] = []

    def add(span: tuple[int, int]) -> None:
        spans.extend([span] * (draw(st.integers(1, 3)) if unary else 1))

    if unary:
        for leaf in draw(st.sets(st.integers(0, count - 1), max_size=3)):
            add((leaf, leaf + 1))
    while len(parts) > 1:
        first = draw(st.integers(0, len(parts) - 2))
        stop = min(len(parts), first + draw(st.integers(2, max_arity)))
        span = (parts[first][0], parts[stop - 1][1])
        add(span)
        parts[first:stop] = [span]
    if count == 1 and not spans:
        add((0, 1))
    spans.sort(key=post_order)
    return Tree(
        words=_exactly(draw, words() if leaf_words is None else leaf_words, count),
        tags=_exactly(draw, labels() if leaf_tags is None else leaf_tags, count),
        labels=_exactly(draw, labels() if node_labels is None else node_labels, len(spans)),
        spans=spans,
    )


def plain_labels() -> st.SearchStrategy[str]:
    """Labels that no transform treats in a special way."""
    return st.sampled_from(["S", "NP", "VP", "PP", "X"])


def broken_texts() -> st.SearchStrategy[str]:
    """Texts of brackets, most of which are not trees."""
    tokens = st.sampled_from(["(", ")", "(S ", "(NP", "(NN dog)", "a", "b ", " ", "\n", "(-NONE- *)", "DOC"])
    return st.lists(tokens, max_size=14).map("".join)


@st.composite
def damaged_texts(draw: st.DrawFn) -> str:
    """The brackets of a tree with one character lost or gained."""
    text = str(draw(trees(max_leaves=6)))
    position = draw(st.integers(0, len(text)))
    return text[:position] + draw(st.sampled_from(["", "(", ")", " ", "x"])) + text[position + 1 :]


def _exactly(draw: st.DrawFn, values: st.SearchStrategy[str], count: int) -> Sequence[str]:
    """A list of ``count`` values."""
    return draw(st.lists(values, min_size=count, max_size=count))
