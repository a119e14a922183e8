"""Draw the pictures of the documentation, with treeformer's own drawing.

python docs/pictures.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from treeformer import Tree, TreeBatch
from treeformer.trees import to_svg
from treeformer.trees.tree import trusted_tree

FOLDER = Path(__file__).parent / "pictures"
TREE = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ chases) (NP (DT a) (NN mouse))))")
WEIGHTS = (0.1, 0.9, 1.2, 0.2, 0.8)  #: invented, one per leaf
VP, S = 2, 3  # in post-order
_SEEN, _SELF, _LINK = "#fde3b0", "#f5b84b", 0.55


def batch() -> TreeBatch:
    """The tree of all pictures as tensors."""
    return TreeBatch.from_trees([TREE])


def spans() -> str:
    """Each label with the span of its leaves, each word with its number."""
    labels = [f"{node.label} {node.span[0]}–{node.span[1]}" for node in TREE]
    return to_svg(_relabelled(labels, [str(leaf) for leaf in range(len(TREE.words))]))


def seen_by_node() -> str:
    """Links from VP to everything it attends to."""
    return _seen(len(TREE.words) + VP, ("node", VP))


def seen_by_word() -> str:
    """Links from the word *cat* to everything it attends to."""
    return _seen(1, ("leaf", 1))


def _seen(place: int, me: tuple[str, int]) -> str:
    """Links from ``me``, at ``place`` of [leaves ; nodes], to all it sees under the subtree mask."""
    n = len(TREE.words)
    row = batch().visible[0, place].tolist()
    leaves = [("leaf", j) for j in range(n) if row[j]]
    nodes = [("node", i) for i in range(len(TREE)) if row[n + i]]
    links = [(me, part, _LINK) for part in [*leaves, *nodes]]
    colours = {part: _SELF if part == me else _SEEN for part in [*leaves, *nodes]}
    return to_svg(
        TREE,
        node_colors=[colours.get(("node", i)) for i in range(len(TREE))],
        leaf_colors=[colours.get(("leaf", j)) for j in range(n)],
        links=links,  # type: ignore[arg-type]
    )


def branch(leaf: int) -> Callable[[], str]:
    """The branch from S down to a leaf."""

    def picture() -> str:
        covering = batch().covers[0, :, leaf].tolist()
        return to_svg(
            _weighted(),
            node_colors=[_SEEN if covers else None for covers in covering],
            leaf_colors=[_SELF if j == leaf else None for j in range(len(TREE.words))],
        )

    return picture


def indices(node: int) -> Callable[[], str]:
    """The vertical and horizontal index of each leaf below a node."""

    def picture() -> str:
        sizes = batch().branch_sizes[0, node].tolist()
        start, end = TREE.spans[node]
        rows = [
            f"v{size} h{leaf - start + 1}" if start <= leaf < end else "–" for leaf, size in enumerate(sizes)
        ]
        colours = [_SELF if i == node else None for i in range(len(TREE))]
        return to_svg(_relabelled(TREE.labels, rows), node_colors=colours)

    return picture


def coefficients() -> tuple[torch.Tensor, torch.Tensor]:
    """The matrices A ``[nodes, leaves]`` and B ``[nodes, nodes]`` of docs/method.md for these weights."""
    trees = batch()
    covers, subtree = trees.covers[0].double(), trees.subtree[0].double()
    A = covers / (trees.leaf_counts[0][:, None] * (trees.branch_sizes[0] + 1)) * torch.tensor(WEIGHTS)
    return A, subtree * (A @ covers.T)


def shares() -> str:
    """How much of each leaf and node flows into S."""
    A, B = coefficients()
    a, b = A[S].tolist(), B[S].tolist()
    largest = max(a + b)
    labels = [f"{label} {share:.2f}" for label, share in zip(TREE.labels, b, strict=True)]
    return to_svg(
        _relabelled(labels, [f"{share:.2f}" for share in a]),
        node_colors=[_shade(share / largest) for share in b],
        leaf_colors=[_shade(share / largest) for share in a],
    )


def sentiment() -> str:
    """A sentence as the shipped model classifies it."""
    from treeformer.inference import Classifier
    from treeformer.inference.pictures import classified_svg

    classifier = Classifier.from_pretrained(device="cpu")
    (answer,) = classifier(["The plot is dull, but the actors save it."])
    return classified_svg(answer, classifier.classes)


def _weighted() -> Tree:
    """The tree with the weight of each leaf in place of its tag."""
    return _relabelled(TREE.labels, [f"w = {weight}" for weight in WEIGHTS])


def _relabelled(labels: Sequence[str], tags: Sequence[str]) -> Tree:
    return trusted_tree(TREE.words, tuple(tags), tuple(labels), TREE.spans)


def _shade(strength: float) -> str:
    """From white to orange."""
    return "#" + "".join(f"{round(255 + (full - 255) * strength):02x}" for full in (0xF5, 0xB8, 0x4B))


PICTURES: dict[str, Callable[[], str]] = {
    "spans": spans,
    "seen-by-node": seen_by_node,
    "seen-by-word": seen_by_word,
    "branch-cat": branch(1),
    "branch-chases": branch(2),
    "branch-mouse": branch(4),
    "indices-vp": indices(VP),
    "indices-s": indices(S),
    "shares": shares,
    "sentiment": sentiment,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(make(), encoding="utf-8")
        print(FOLDER / f"{name}.svg")
