"""Transforms of trees. Every function returns a new ``Tree``; trees are immutable.

A corpus is prepared in this order: strip, split words, collapse, join.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Literal

from .errors import quoted, shortened
from .labels import DOCUMENT, TRACE, bare_label
from .shape import Span, children_of_nodes, post_order
from .tree import Tree, checked_strings, checked_trees, trusted_tree

_BINARISED = "@"


def strip(tree: Tree) -> Tree:
    """The tree without function tags, indices (``NP-SBJ-1`` and ``NP=2`` give ``NP``) and traces.

    Leaves tagged ``-NONE-`` and constituents without other leaves are removed; ``ValueError`` if nothing is
    left.

    >>> text = "(S (NP-SBJ (-NONE- *PRO*)) (VP (VB leave) (NP-TMP (NN today))))"
    >>> str(strip(Tree.from_brackets(text, unary="keep", strip=False)))
    '(S (VP (VB leave) (NP (NN today))))'
    """
    kept = [leaf for leaf, tag in enumerate(tree.tags) if tag != TRACE]
    if not kept:
        raise ValueError(f"expected at least one word, found a tree of traces only: {shortened(str(tree))}")
    words = [tree.words[leaf] for leaf in kept]
    tags = [bare_label(tree.tags[leaf]) for leaf in kept]
    positions = list(accumulate((tag != TRACE for tag in tree.tags), initial=0))
    labels = []
    spans = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if positions[start] < positions[end]:
            labels.append(bare_label(label))
            spans.append((positions[start], positions[end]))
    return trusted_tree(tuple(words), tuple(tags), tuple(labels), tuple(spans))


def split_words(tree: Tree, pieces: Iterable[Iterable[str]]) -> Tree:
    """The tree over subwords: leaf ``k`` is replaced by ``pieces[k]``, each with the tag of its word.

    The preterminal of a word in two or more pieces becomes a node, labelled with the tag.

    >>> str(split_words(Tree.from_brackets("(NP (JJ tall) (NNS trees))"), [["tall"], ["tree", "s"]]))
    '(NP (JJ tall) (NNS (NNS tree) (NNS s)))'
    """
    words = [checked_strings(f"pieces[{word}]", parts) for word, parts in enumerate(pieces)]
    if len(words) != len(tree.words):
        raise ValueError(
            f"pieces: expected one sequence for each of {len(tree.words)} words, got {len(words)}"
        )
    if () in words:
        word = words.index(())
        raise ValueError(f"pieces[{word}] is empty: expected the pieces of {quoted(tree.words[word])}")
    positions = list(accumulate(map(len, words), initial=0))
    nodes = [
        (tree.tags[word], (positions[word], positions[word + 1]))
        for word, parts in enumerate(words)
        if len(parts) > 1
    ]
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        nodes.append((label, (positions[start], positions[end])))
    tags = [tag for tag, parts in zip(tree.tags, words, strict=True) for _ in parts]
    return _sorted_tree(tuple(chain.from_iterable(words)), tuple(tags), nodes)


def merge_words(tree: Tree, merged: Mapping[int, str]) -> Tree:
    """The tree with leaves ``k`` and ``k + 1`` merged into ``merged[k]``, with the tag of the first.

    The merged word is a child of the lowest node over both leaves. Nodes over only one of them lose it, and
    are removed if they have no other leaf.

    >>> tree = Tree.from_brackets("(PP (ADP de) (NP (DET le) (NOUN jour)))")
    >>> str(merge_words(tree, {0: "du"}))
    '(PP (ADP du) (NP (NOUN jour)))'
    """
    checked_strings("merged", merged.values())
    for first in merged:
        if not 0 <= first < len(tree.words) - 1 or first + 1 in merged:
            raise ValueError(f"merged: expected pairs of leaves that share none, got {sorted(merged)}")
    positions = list(accumulate((leaf - 1 not in merged for leaf in range(len(tree.words))), initial=0))
    kept = [leaf for leaf in range(len(tree.words)) if leaf - 1 not in merged]
    nodes = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        new_start, new_end = positions[start], positions[end]
        if end - 1 in merged:  # the node ends between the two leaves
            new_end -= 1
        if new_start < new_end:
            nodes.append((label, (new_start, new_end)))
    return _sorted_tree(
        tuple(merged.get(leaf, tree.words[leaf]) for leaf in kept),
        tuple(tree.tags[leaf] for leaf in kept),
        nodes or [(tree.labels[-1], (0, 1))],
    )


def collapse(tree: Tree) -> Tree:
    """The tree with only the lowest node of each unary chain.

    A chain above a preterminal is removed, except in a sentence of one word, whose lowest node is kept. A
    root ``DOC`` belongs to no chain; its children are sentences. A ``DOC`` below a chain becomes the root.

    >>> str(collapse(Tree.from_brackets("(ROOT (S (NP (NNS dogs)) (VP (VBP bark))))", unary="keep")))
    '(S (NNS dogs) (VBP bark))'
    """
    spans = tree.spans
    sentence_spans = {spans[-1]}
    inner_nodes = len(spans)
    if DOCUMENT in tree.labels:
        for node in range(len(spans) - 1, -1, -1):
            if spans[node] != spans[-1]:
                break
            if tree.labels[node] == DOCUMENT:
                sentence_spans = {spans[child] for child, parent in enumerate(tree.parents) if parent == node}
                inner_nodes = node
                break
    kept = []
    last = (0, 0)
    for node, span in enumerate(spans[:inner_nodes]):
        if span != last and (span[1] - span[0] > 1 or span in sentence_spans):
            kept.append(node)
        last = span
    if inner_nodes < len(spans):
        kept.append(inner_nodes)
    return _with_nodes(tree, kept)


def binarise(tree: Tree, factor: Literal["right", "left"] = "right", *, left: Collection[str] = ()) -> Tree:
    """The tree with at most two children per node; new nodes below ``X`` are labelled ``@X``.

    With ``factor="right"`` a new node covers all children but the first, with ``"left"`` all but the last.
    Nodes with a label in ``left`` are always factored to the left.

    >>> tree = Tree.from_brackets("(NP (DT the) (JJ old) (NN oak))")
    >>> str(binarise(tree)), str(binarise(tree, "left"))
    ('(NP (DT the) (@NP (JJ old) (NN oak)))', '(NP (@NP (DT the) (JJ old)) (NN oak))')
    """
    if factor not in ("right", "left"):
        raise ValueError(f"factor = {factor!r}: expected 'right' or 'left'")
    nodes = list(zip(tree.labels, tree.spans, strict=True))
    for node, children in enumerate(children_of_nodes(tree.spans)):
        start, end = tree.spans[node]
        part_starts: list[int] = []  # of child nodes and of the leaves between them
        position = start
        for child in children:
            child_start, child_end = tree.spans[child]
            part_starts += range(position, child_start + 1)
            position = child_end
        part_starts += range(position, end)
        label = tree.labels[node].removeprefix(_BINARISED)
        if factor == "right" and label not in left:
            nodes += [(_BINARISED + label, (inner, end)) for inner in part_starts[1:-1]]
        else:
            nodes += [(_BINARISED + label, (start, inner)) for inner in part_starts[2:]]
    return _sorted_tree(tree.words, tree.tags, nodes)


def unbinarise(tree: Tree) -> Tree:
    """The tree without nodes labelled ``@X``, whose children move up; the root is always kept.

    Undoes :func:`binarise` on trees that had no label with ``@`` before.
    """
    kept = [node for node, label in enumerate(tree.labels[:-1]) if not label.startswith(_BINARISED)]
    return _with_nodes(tree, [*kept, len(tree) - 1])


def join(trees: Iterable[Tree], label: str = DOCUMENT) -> Tree:
    """One tree with all ``trees`` under an extra root; also for a single tree.

    >>> str(join([Tree.from_brackets("(INTJ (UH Yes))"), Tree.from_brackets("(S (PRP I) (MD can))")]))
    '(DOC (INTJ (UH Yes)) (S (PRP I) (MD can)))'
    """
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    for tree in checked_trees(trees):
        shift = len(words)
        words += tree.words
        tags += tree.tags
        labels += tree.labels
        spans += [(start + shift, end + shift) for start, end in tree.spans]
    if not words:
        raise ValueError("trees: expected at least one tree, got none")
    labels += checked_strings("label", [label], brackets=False)
    spans.append((0, len(words)))
    return trusted_tree(tuple(words), tuple(tags), tuple(labels), tuple(spans))


def document(trees: Sequence[Tree]) -> Tree:
    """The tree of a text with these sentences: a single one as it is, several joined.

    >>> yes = Tree.from_brackets("(INTJ (UH Yes))")
    >>> str(document([yes])), str(document([yes, yes]))
    ('(INTJ (UH Yes))', '(DOC (INTJ (UH Yes)) (INTJ (UH Yes)))')
    """
    return trees[0] if len(trees) == 1 else join(trees)


def sentences(tree: Tree, label: str = DOCUMENT) -> tuple[Tree, ...]:
    """The trees under the root of :func:`join`, or the tree itself if its root has another label.

    A word right under the root is a sentence of one node, labelled with its tag.
    """
    root = len(tree.labels) - 1
    if tree.labels[root] != label:
        return (tree,)
    tops = {tree.spans[node][0]: node for node, parent in enumerate(tree.parents) if parent == root}
    trees = []
    leaf = node = 0
    while leaf < len(tree.words):
        if leaf in tops:
            stop = tops[leaf] + 1
            end = tree.spans[stop - 1][1]
            labels = tree.labels[node:stop]
            spans = tuple([(first - leaf, last - leaf) for first, last in tree.spans[node:stop]])
        else:
            stop, end = node, leaf + 1
            labels, spans = (tree.tags[leaf],), ((0, 1),)
        trees.append(trusted_tree(tree.words[leaf:end], tree.tags[leaf:end], labels, spans))
        leaf, node = end, stop
    return tuple(trees)


def _with_nodes(tree: Tree, kept: list[int]) -> Tree:
    """The tree with only the nodes at these indices."""
    if len(kept) == len(tree.labels):
        return tree
    labels = tuple([tree.labels[node] for node in kept])
    return trusted_tree(tree.words, tree.tags, labels, tuple([tree.spans[node] for node in kept]))


def _sorted_tree(words: tuple[str, ...], tags: tuple[str, ...], nodes: list[tuple[str, Span]]) -> Tree:
    """The tree of these nodes, sorted into post-order; of nodes with one span the first is the lowest."""
    nodes.sort(key=lambda node: post_order(node[1]))
    return trusted_tree(words, tags, tuple([label for label, _ in nodes]), tuple([span for _, span in nodes]))
