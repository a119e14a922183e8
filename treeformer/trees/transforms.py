"""Trees made from trees. Every function returns a new ``Tree`` and leaves its argument alone.

The order in which a corpus is prepared: strip, split words, collapse, join.
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
    """The tree without function tags and indices (``NP-SBJ-1`` and ``NP=2`` give ``NP``) and without traces.

    Leaves tagged ``-NONE-`` go, and the constituents that become empty with them; ``ValueError`` if nothing
    is left.

    >>> text = "(S (NP-SBJ (-NONE- *PRO*)) (VP (VB leave) (NP-TMP (NN today))))"
    >>> str(strip(Tree.from_brackets(text, unary="keep", strip=False)))
    '(S (VP (VB leave) (NP (NN today))))'
    """
    is_word = [tag != TRACE for tag in tree.tags]
    if not any(is_word):
        raise ValueError(f"expected at least one word, found a tree of traces only: {shortened(str(tree))}")
    words = [word for word, stays in zip(tree.words, is_word, strict=True) if stays]
    tags = [bare_label(tag) for tag, stays in zip(tree.tags, is_word, strict=True) if stays]
    positions = list(accumulate(is_word, initial=0))
    labels = []
    spans = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if positions[start] < positions[end]:
            labels.append(bare_label(label))
            spans.append((positions[start], positions[end]))
    return trusted_tree(tuple(words), tuple(tags), tuple(labels), tuple(spans))


def split_words(tree: Tree, pieces: Iterable[Iterable[str]]) -> Tree:
    """The tree over subwords: leaf ``k`` is replaced by ``pieces[k]``, each piece with the tag of its word.

    The preterminal of a word in two or more pieces becomes a node, labelled with the tag; a whole word adds
    none.

    >>> str(split_words(Tree.from_brackets("(NP (JJ tall) (NNS trees))"), [["tall"], ["tree", "s"]]))
    '(NP (JJ tall) (NNS (NNS tree) (NNS s)))'
    """
    split_up = [checked_strings(f"pieces[{word}]", parts) for word, parts in enumerate(pieces)]
    if len(split_up) != len(tree.words):
        raise ValueError(
            f"pieces: expected one sequence for each of {len(tree.words)} words, got {len(split_up)}"
        )
    for word, parts in enumerate(split_up):
        if not parts:
            raise ValueError(f"pieces[{word}] is empty: expected the pieces of {quoted(tree.words[word])}")
    positions = list(accumulate(map(len, split_up), initial=0))
    split = [word for word, parts in enumerate(split_up) if len(parts) > 1]
    nodes = [(tree.tags[word], (positions[word], positions[word + 1])) for word in split]
    nodes += [(label, (positions[start], positions[end])) for label, (start, end) in _nodes(tree)]
    tags = [tag for tag, parts in zip(tree.tags, split_up, strict=True) for _ in parts]
    return _sorted_tree(tuple(chain.from_iterable(split_up)), tuple(tags), nodes)


def merge_words(tree: Tree, merged: Mapping[int, str]) -> Tree:
    """The tree in which leaves ``k`` and ``k + 1`` are one word, ``merged[k]``, with the tag of the first.

    The word stands right under the lowest node over both: nodes that held but one of the two lose it, and go
    if they held nothing else.

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
    for label, (start, end) in _nodes(tree):
        first = positions[start]
        last = positions[end] - (end - 1 in merged)
        if first < last:
            nodes.append((label, (first, last)))
    return _sorted_tree(
        tuple(merged.get(leaf, tree.words[leaf]) for leaf in kept),
        tuple(tree.tags[leaf] for leaf in kept),
        nodes or [(tree.labels[-1], (0, 1))],
    )


def collapse(tree: Tree) -> Tree:
    """The tree without unary chains: of each chain the lowest node stays.

    A chain that ends in a preterminal makes no node, except in a sentence of one word, whose lowest node
    stays. A root ``DOC`` is no part of any chain; what stands right under it are sentences. A ``DOC`` with
    only a chain above it becomes the root.

    >>> str(collapse(Tree.from_brackets("(ROOT (S (NP (NNS dogs)) (VP (VBP bark))))", unary="keep")))
    '(S (NNS dogs) (VBP bark))'
    """
    spans = tree.spans
    document = _document(tree)
    if document < 0:
        inner, sentence_spans = spans, {spans[-1]}
    else:
        inner = spans[:document]
        sentence_spans = {spans[node] for node, parent in enumerate(tree.parents) if parent == document}
    kept = []
    last = (0, 0)
    for node, span in enumerate(inner):
        if span != last and (span[1] - span[0] > 1 or span in sentence_spans):
            kept.append(node)
        last = span
    return _with_nodes(tree, kept if document < 0 else [*kept, document])


def binarise(tree: Tree, factor: Literal["right", "left"] = "right", *, left: Collection[str] = ()) -> Tree:
    """The tree with at most two children a node: the rest of the children of ``X`` go under new nodes ``@X``.

    With ``factor="right"`` the rest is what follows the first child, with ``"left"`` what precedes the last;
    the latter also for nodes with a label in ``left``.

    >>> tree = Tree.from_brackets("(NP (DT the) (JJ old) (NN oak))")
    >>> str(binarise(tree)), str(binarise(tree, "left"))
    ('(NP (DT the) (@NP (JJ old) (NN oak)))', '(NP (@NP (DT the) (JJ old)) (NN oak))')
    """
    if factor not in ("right", "left"):
        raise ValueError(f"factor = {factor!r}: expected 'right' or 'left'")
    nodes = list(_nodes(tree))
    for node, children in enumerate(children_of_nodes(tree.spans)):
        start, end = tree.spans[node]
        starts = _starts_of_parts((start, end), [tree.spans[child] for child in children])
        label = _BINARISED + tree.labels[node].removeprefix(_BINARISED)
        if factor == "right" and label.removeprefix(_BINARISED) not in left:
            nodes += [(label, (inner, end)) for inner in starts[1:-1]]
        else:
            nodes += [(label, (start, inner)) for inner in starts[2:]]
    return _sorted_tree(tree.words, tree.tags, nodes)


def unbinarise(tree: Tree) -> Tree:
    """The tree without nodes labelled ``@X``: their children go to the node above. A root always stays.

    Undoes :func:`binarise` on trees that had no such label before.
    """
    kept = [node for node, label in enumerate(tree.labels[:-1]) if not label.startswith(_BINARISED)]
    return _with_nodes(tree, [*kept, len(tree) - 1])


def join(trees: Iterable[Tree], label: str = DOCUMENT) -> Tree:
    """One tree over the leaves of all ``trees``, which stand under one extra root; also over a single tree.

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
    """The tree of a text whose sentences have these trees: a single one as it is, several joined.

    >>> yes = Tree.from_brackets("(INTJ (UH Yes))")
    >>> str(document([yes])), str(document([yes, yes]))
    ('(INTJ (UH Yes))', '(DOC (INTJ (UH Yes)) (INTJ (UH Yes)))')
    """
    return trees[0] if len(trees) == 1 else join(trees)


def sentences(tree: Tree, label: str = DOCUMENT) -> tuple[Tree, ...]:
    """The trees that :func:`join` put under one root, or the tree alone if its root has another label.

    A word right under the root is a sentence of one node, labelled with its tag.
    """
    root = len(tree) - 1
    if tree.labels[root] != label:
        return (tree,)
    ends = {tree.spans[node][0]: node for node, parent in enumerate(tree.parents) if parent == root}
    found = []
    leaf = node = 0
    while leaf < len(tree.words):
        stop = ends.get(leaf, node - 1) + 1
        end = tree.spans[stop - 1][1] if leaf in ends else leaf + 1
        labels = tree.labels[node:stop] or (tree.tags[leaf],)
        spans = tuple([(first - leaf, last - leaf) for first, last in tree.spans[node:stop]]) or ((0, 1),)
        found.append(trusted_tree(tree.words[leaf:end], tree.tags[leaf:end], labels, spans))
        leaf, node = end, stop
    return tuple(found)


def _document(tree: Tree) -> int:
    """The node ``DOC`` at the root or highest on the chain below it, -1 if there is none."""
    for node in range(len(tree) - 1, -1, -1):
        if tree.spans[node] != tree.spans[-1]:
            break
        if tree.labels[node] == DOCUMENT:
            return node
    return -1


def _nodes(tree: Tree) -> Iterable[tuple[str, Span]]:
    """Label and span of each node."""
    return zip(tree.labels, tree.spans, strict=True)


def _with_nodes(tree: Tree, kept: list[int]) -> Tree:
    """The tree with only the nodes whose indices are ``kept``."""
    if len(kept) == len(tree):
        return tree
    labels = tuple([tree.labels[node] for node in kept])
    return trusted_tree(tree.words, tree.tags, labels, tuple([tree.spans[node] for node in kept]))


def _sorted_tree(words: tuple[str, ...], tags: tuple[str, ...], nodes: list[tuple[str, Span]]) -> Tree:
    """The tree of ``nodes``, put into post-order; of nodes with one span the first listed is the lowest."""
    nodes.sort(key=lambda node: post_order(node[1]))
    return trusted_tree(words, tags, tuple([label for label, _ in nodes]), tuple([span for _, span in nodes]))


def _starts_of_parts(span: Span, children: list[Span]) -> list[int]:
    """Where the parts of a node begin: its child nodes and the leaves between them."""
    starts: list[int] = []
    position, end = span
    for child_start, child_end in [*children, (end, end)]:
        starts += range(position, child_start)
        if child_start < end:
            starts.append(child_start)
        position = child_end
    return starts
