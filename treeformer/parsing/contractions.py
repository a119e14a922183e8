"""French words that CoreNLP's trees split in two, written as one again: *de le* is *du*."""

from __future__ import annotations

from treeformer.trees import Tree, merge_words

_ARTICLES = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}
_PRONOUNS = {
    ("de", "lequel"): "duquel",
    ("de", "lesquels"): "desquels",
    ("de", "lesquelles"): "desquelles",
    ("à", "lequel"): "auquel",
    ("à", "lesquels"): "auxquels",
    ("à", "lesquelles"): "auxquelles",
}


def contract(tree: Tree) -> Tree:
    """The tree over the words as they are written.

    *le* is an article here if its tag says so: *de le voir* ("to see it") stays as it is.

    >>> text = "(SENT (NP (NOUN fin) (PP (ADP de) (NP (DET le) (NOUN jour)))))"
    >>> print(contract(Tree.from_brackets(text, unary="keep")))
    (SENT (NP (NOUN fin) (PP (ADP du) (NP (NOUN jour)))))
    """
    merged: dict[int, str] = {}
    for first in range(len(tree.words) - 1):
        word = _contraction(tree, first)
        if word is not None:
            merged[first] = word.capitalize() if tree.words[first][0].isupper() else word
    return merge_words(tree, merged) if merged else tree


def _contraction(tree: Tree, first: int) -> str | None:
    """What the words ``first`` and ``first + 1`` are together, None if they are two words."""
    if tree.tags[first] != "ADP":
        return None
    pair = (tree.words[first].lower(), tree.words[first + 1].lower())
    return (_ARTICLES if tree.tags[first + 1] == "DET" else _PRONOUNS).get(pair)
