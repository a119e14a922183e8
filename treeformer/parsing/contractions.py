"""French contractions, which CoreNLP's trees split in two: *de le* becomes *du*."""

from __future__ import annotations

from itertools import pairwise

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

    *le* is an article if it is tagged as one: *de le voir* ("to see it") stays as it is.

    >>> text = "(SENT (NP (NOUN fin) (PP (ADP de) (NP (DET le) (NOUN jour)))))"
    >>> print(contract(Tree.from_brackets(text, unary="keep")))
    (SENT (NP (NOUN fin) (PP (ADP du) (NP (NOUN jour)))))
    """
    merged: dict[int, str] = {}
    for first, (word, following) in enumerate(pairwise(tree.words)):
        if tree.tags[first] != "ADP":
            continue
        contractions = _ARTICLES if tree.tags[first + 1] == "DET" else _PRONOUNS
        contraction = contractions.get((word.lower(), following.lower()))
        if contraction:
            merged[first] = contraction.capitalize() if word[0].isupper() else contraction
    return merge_words(tree, merged) if merged else tree
