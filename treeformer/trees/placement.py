"""Positions of the parts of a tree in a picture: words in one row, every node above its leaves."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .tree import Tree


@dataclass(frozen=True, slots=True)
class Placement:
    """Horizontal centres of leaves and nodes, the level of each node (1: lowest), and the total width."""

    leaf_centers: list[float]
    node_centers: list[float]
    levels: list[int]
    width: float


def place(tree: Tree, leaf_widths: Sequence[float], label_widths: Sequence[float], gap: float) -> Placement:
    """The placement in which texts of one row keep a distance of ``gap``.

    A node is centred between its first and its last child, one level above the highest of them. Every label
    is above the leaves of its node, so the labels of one level, whose leaves are disjoint, cannot overlap.
    """
    edges = _leaf_edges(tree, leaf_widths, label_widths, gap)
    leaf_centers = [(left + right) / 2 for left, right in pairwise(edges)]
    levels = [1] * len(tree)
    leftmost = [edges[-1]] * len(tree)
    rightmost = [0.0] * len(tree)
    for center, parent in zip(leaf_centers, tree.leaf_parents, strict=True):
        leftmost[parent] = min(leftmost[parent], center)
        rightmost[parent] = max(rightmost[parent], center)
    node_centers = []
    for node, (parent, (start, end)) in enumerate(zip(tree.parents, tree.spans, strict=True)):
        reach = (label_widths[node] + gap) / 2
        middle = (leftmost[node] + rightmost[node]) / 2
        center = min(max(middle, edges[start] + reach), edges[end] - reach)
        node_centers.append(center)
        if parent >= 0:
            levels[parent] = max(levels[parent], levels[node] + 1)
            leftmost[parent] = min(leftmost[parent], center)
            rightmost[parent] = max(rightmost[parent], center)
    return Placement(leaf_centers, node_centers, levels, edges[-1])


def character_width(character: str) -> int:
    """Columns that a character takes on a terminal: 0 for combining marks, 2 for wide characters, else 1."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _leaf_edges(
    tree: Tree, leaf_widths: Sequence[float], label_widths: Sequence[float], gap: float
) -> list[float]:
    """The borders between the columns of the leaves, wide enough for every label above them."""
    widths = [width + gap for width in leaf_widths]
    totals = [0.0] * len(tree)
    for width, parent in zip(widths, tree.leaf_parents, strict=True):
        totals[parent] += width
    for node, (parent, (start, end)) in enumerate(zip(tree.parents, tree.spans, strict=True)):
        missing = label_widths[node] + gap - totals[node]
        if missing > 0:
            totals[node] += missing
            for leaf in range(start, end):
                widths[leaf] += missing / (end - start)
        if parent >= 0:
            totals[parent] += totals[node]
    return list(accumulate(widths, initial=0.0))
