"""Conversion from and to ``nltk.Tree``.

Leaves of an ``nltk.Tree`` are spelled as in bracket files (``-LRB-`` for ``(``), as by nltk's readers.
"""

from typing import Any

from .errors import quoted
from .escapes import decode_word, encode_word
from .shape import Span
from .tree import Tree
from .writer import nodes_by_first_leaf


def to_nltk(tree: Tree) -> Any:
    """The ``nltk.Tree`` with these brackets, preterminals included."""
    nltk_tree = _nltk_tree_class()
    subtrees = [nltk_tree(label, []) for label in tree.labels]
    for leaf, nodes in enumerate(nodes_by_first_leaf(tree)):
        for node in nodes:
            if tree.parents[node] >= 0:
                subtrees[tree.parents[node]].append(subtrees[node])
        preterminal = nltk_tree(tree.tags[leaf], [encode_word(tree.words[leaf])])
        subtrees[tree.leaf_parents[leaf]].append(preterminal)
    return subtrees[-1]


def from_nltk(nltk_tree: Any) -> Tree:
    """The ``Tree`` of an ``nltk.Tree``, with all chains and labels.

    An empty outermost label reads as ``ROOT``. ``ValueError`` if a word has no tag or a label is missing.
    """
    tree_class = _nltk_tree_class()
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    waiting: list[tuple[Any, int]] = [(nltk_tree, -1)]
    while waiting:
        part, start = waiting.pop()
        if not isinstance(part, tree_class):
            raise ValueError(f"nltk_tree: expected Tree(TAG, [word]), found {quoted(part)} without a tag")
        if start >= 0:
            labels.append(_label(part))
            spans.append((start, len(words)))
        elif len(part) == 1 and isinstance(part[0], str):
            words.append(decode_word(part[0]))
            tags.append(_label(part))
        else:
            waiting.append((part, len(words)))
            waiting += [(child, -1) for child in reversed(part)]
    if not labels:
        labels, spans = list(tags), [(0, 1)]
    elif not labels[-1]:
        labels[-1] = "ROOT"
    return Tree(words, tags, labels, spans)


def _label(part: Any) -> str:
    """The label of an ``nltk.Tree`` as text: nltk also takes numbers and symbols of grammars."""
    label = part.label()
    if label is None:
        raise ValueError(f"nltk_tree: expected a label, found None over {quoted(' '.join(part.leaves()))}")
    return str(label)


def _nltk_tree_class() -> Any:
    """The class ``nltk.Tree``."""
    try:
        from nltk.tree import Tree as NltkTree
    except ImportError as error:
        raise ImportError(
            "nltk is not installed; install it with: pip install '.[nltk]' in the clone"
        ) from error
    return NltkTree
