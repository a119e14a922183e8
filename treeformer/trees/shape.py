"""Parents, children and depths from spans in post-order, and whether spans make a tree.

Post-order lists children before parents and, on a unary chain, the lower node first. Every function scans the
spans once with a stack of finished subtrees, so deep trees need no recursion.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Span = tuple[int, int]  #: half-open: first leaf, and the leaf after the last


class Shape(NamedTuple):
    """Parents (-1: root) and depths (root: 0) of nodes; lowest node above each leaf, and their number."""

    parents: tuple[int, ...]
    depths: tuple[int, ...]
    leaf_parents: tuple[int, ...]
    leaf_depths: tuple[int, ...]


def post_order(span: Span) -> tuple[int, int]:
    """The key that sorts spans into post-order; equal spans (unary chains) keep their order."""
    start, end = span
    return end, -start


def children_of_nodes(spans: Sequence[Span]) -> Iterator[list[int]]:
    """The child nodes of each node in post-order, left to right."""
    finished: list[int] = []
    for index, (start, _) in enumerate(spans):
        first = len(finished)
        while first and spans[finished[first - 1]][0] >= start:
            first -= 1
        yield finished[first:]
        finished[first:] = [index]


def shape_of(spans: Sequence[Span], leaf_count: int) -> Shape:
    """Parents and depths of the nodes and leaves of a valid tree."""
    parents = [-1] * len(spans)
    leaf_parents = [-1] * leaf_count
    for index, children in enumerate(children_of_nodes(spans)):
        position, end = spans[index]
        for child in children:
            parents[child] = index
            start, child_end = spans[child]
            for leaf in range(position, start):
                leaf_parents[leaf] = index
            position = child_end
        for leaf in range(position, end):
            leaf_parents[leaf] = index
    depths = [0] * len(spans)
    for index in range(len(spans) - 2, -1, -1):
        depths[index] = depths[parents[index]] + 1
    leaf_depths = tuple(depths[parent] + 1 for parent in leaf_parents)
    return Shape(tuple(parents), tuple(depths), tuple(leaf_parents), leaf_depths)


def check_spans(spans: Sequence[Span], leaf_count: int) -> None:
    """Raise ``ValueError`` unless ``spans`` is the post-order of one tree over all ``leaf_count`` leaves."""
    if not spans:
        raise ValueError("spans: a tree has at least one node, got none")
    finished: list[Span] = []
    for index, span in enumerate(spans):
        start, end = span
        place = f"spans[{index}] = {span}"
        if start >= end:
            raise ValueError(f"{place} is empty: a node covers at least one leaf")
        if start < 0 or end > leaf_count:
            raise ValueError(f"{place} leaves the sentence of {leaf_count} leaves")
        if finished and finished[-1][1] > end:
            before = finished[-1]
            if start < before[0] < end:
                raise ValueError(f"{place} crosses {before}: two nodes are nested or apart")
            raise ValueError(
                f"{place} stands after {before}: nodes stand in post-order, left to right and children before"
                " parents"
            )
        while finished and finished[-1][0] >= start:
            finished.pop()
        if finished and finished[-1][1] > start:
            raise ValueError(f"{place} crosses {finished[-1]}: two nodes are nested or apart")
        finished.append(span)
    if finished != [(0, leaf_count)]:
        raise ValueError(
            f"spans[{len(spans) - 1}] = {spans[-1]} is the last node, so it is the root and must cover"
            f" all leaves, (0, {leaf_count})"
        )
