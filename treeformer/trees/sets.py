"""The paper's definition of a tree, T = (L, N, R), and its inverse (Proposition 1).

R is quadratic in the depth of a tree, so this is for checks and explanations, not for corpora.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import quoted
from .shape import children_of_nodes
from .tree import Tree


@dataclass(frozen=True, slots=True)
class LeafElement:
    """A leaf of T: its position in the sentence, its word and its tag."""

    position: int
    word: str
    tag: str


@dataclass(frozen=True, slots=True)
class NodeElement:
    """A node of T: its label, and a number that identifies it."""

    name: int
    label: str


@dataclass(frozen=True, slots=True)
class TreeSets:
    """T = (L, N, R): ordered leaves, unordered nodes, and the subtree of each node, itself included."""

    leaves: tuple[LeafElement, ...]
    nodes: frozenset[NodeElement]
    subtrees: Mapping[NodeElement, frozenset[LeafElement | NodeElement]]


def to_sets(tree: Tree) -> TreeSets:
    """The sets (L, N, R) of a tree."""
    leaves = tuple(map(LeafElement, range(len(tree.words)), tree.words, tree.tags))
    nodes = tuple(map(NodeElement, range(len(tree)), tree.labels))
    subtrees: dict[NodeElement, frozenset[LeafElement | NodeElement]] = {}
    for node, children, (start, end) in zip(nodes, children_of_nodes(tree.spans), tree.spans, strict=True):
        members: frozenset[LeafElement | NodeElement] = frozenset((node, *leaves[start:end]))
        subtrees[node] = members.union(*(subtrees[nodes[child]] for child in children))
    return TreeSets(leaves, frozenset(nodes), subtrees)


def from_sets(sets: TreeSets) -> Tree:
    """The tree with these sets; ``ValueError`` if there is none.

    Post-order is recovered from R alone: nodes that end at one leaf are nested, so the smaller subtree comes
    first.
    """
    spans = {}
    for node in sets.nodes:
        positions = sorted(leaf.position for leaf in sets.subtrees[node] if isinstance(leaf, LeafElement))
        if not positions or positions[-1] - positions[0] + 1 != len(positions):
            raise ValueError(
                f"subtrees[{quoted(node)}]: expected neighbouring leaves, got {quoted(positions)}"
            )
        spans[node] = (positions[0], positions[-1] + 1)
    order = sorted(sets.nodes, key=lambda node: (spans[node][1], len(sets.subtrees[node])))
    words = [leaf.word for leaf in sets.leaves]
    tags = [leaf.tag for leaf in sets.leaves]
    tree = Tree(words, tags, [node.label for node in order], [spans[node] for node in order])
    for index, members in enumerate(to_sets(tree).subtrees.values()):
        expected = {order[member.name] if isinstance(member, NodeElement) else member for member in members}
        if sets.subtrees[order[index]] != expected:
            raise ValueError(f"subtrees[{quoted(order[index])}]: expected the node and all below it")
    return tree
