"""Control trees, to compare with parsed ones: binary trees built without a parser, and shuffled labels.

In binary trees every node and, unless given, every tag is labelled ``X``. One word alone has one node.
"""

from collections.abc import Callable, Iterable
from operator import index as as_integer
from random import Random

from .errors import quoted
from .shape import Span
from .tree import Tree, checked_strings

_LABEL = "X"


def balanced(words: Iterable[str], *, tags: Iterable[str] | None = None) -> Tree:
    """The tree that halves every span; the left half has one more of an odd number of words.

    >>> str(balanced(["a", "b", "c"]))
    '(X (X (X a) (X b)) (X c))'
    """
    return _binary_tree(words, tags, lambda start, end: (start + end + 1) // 2)


def left_branching(words: Iterable[str], *, tags: Iterable[str] | None = None) -> Tree:
    """The tree in which every node is a left child: ``(((a b) c) d)``."""
    return _binary_tree(words, tags, lambda start, end: end - 1)


def right_branching(words: Iterable[str], *, tags: Iterable[str] | None = None) -> Tree:
    """The tree in which every node is a right child: ``(a (b (c d)))``."""
    return _binary_tree(words, tags, lambda start, end: start + 1)


def random_tree(words: Iterable[str], seed: int, *, tags: Iterable[str] | None = None) -> Tree:
    """A tree that splits every span at a uniformly drawn position (which is not uniform over trees).

    Equal words and seeds give equal trees in every process and Python version, since ``Random.random`` does.
    """
    draw = _drawing(seed)
    return _binary_tree(words, tags, lambda start, end: start + 1 + int(draw() * (end - start - 1)))


def shuffled_labels(tree: Tree, seed: int) -> Tree:
    """The tree with its labels in another order; all orders are equally likely.

    >>> tree = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))")
    >>> str(shuffled_labels(tree, 1))
    '(NP (S (DT the) (NN cat)) (VP (VBZ sleeps) (RB well)))'
    """
    draw = _drawing(seed)
    labels = list(tree.labels)
    for last in range(len(labels) - 1, 0, -1):
        chosen = int(draw() * (last + 1))
        labels[last], labels[chosen] = labels[chosen], labels[last]
    return Tree(tree.words, tree.tags, labels, tree.spans)


def _drawing(seed: int) -> Callable[[], float]:
    """A source of random numbers that are equal in every process and Python version."""
    try:
        return Random(as_integer(seed)).random
    except TypeError:
        raise ValueError(f"seed = {quoted(seed)}: expected an integer") from None


def _binary_tree(words: Iterable[str], tags: Iterable[str] | None, split: Callable[[int, int], int]) -> Tree:
    """The tree whose spans of two or more words are split at ``split(start, end)``."""
    words = checked_strings("words", words)
    if tags is None:
        tags = [_LABEL] * len(words)
    whole = (0, len(words))
    spans: list[Span] = [whole] if len(words) == 1 else []
    waiting = [whole]
    while waiting:
        start, end = waiting.pop()
        if end - start > 1:
            middle = split(start, end)
            spans.append((start, end))
            waiting += ((start, middle), (middle, end))
    spans.reverse()
    return Tree(words, tags, [_LABEL] * len(spans), spans)
