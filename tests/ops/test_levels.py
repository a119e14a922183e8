"""Levels of trees: what is computed for whole batches equals the definitions by parents."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.strategies import trees
from treeformer import Tree, TreeBatch
from treeformer.ops import levels as structure
from treeformer.trees import balanced, right_branching

batches = st.lists(trees(max_leaves=10), min_size=1, max_size=4)


def height(tree: Tree, node: int) -> int:
    below = [child for child, parent in enumerate(tree.parents) if parent == node]
    return 1 + max((height(tree, child) for child in below), default=0)


@given(batches)
@settings(max_examples=40)
def test_parents_and_heights_are_those_of_the_trees(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    for index, tree in enumerate(examples):
        n, m = len(tree.words), len(tree)
        root = m - 1
        assert batch.shared(structure.leaf_parents)[index].tolist() == [
            *tree.leaf_parents,
            *[batch.m] * (batch.n - n),
        ]
        parents = [*tree.parents[:-1], root, *range(m, batch.m)]
        assert batch.shared(structure.node_parents)[index].tolist() == parents
        heights = [height(tree, node) for node in range(m)]
        assert batch.shared(structure.heights)[index].tolist() == [*heights, *[0] * (batch.m - m)]


@given(batches)
@settings(max_examples=40)
def test_every_node_has_one_first_child_and_all_its_children(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    for index, tree in enumerate(examples):
        children: list[list[tuple[int, bool]]] = [[] for _ in tree]
        for leaf, parent in enumerate(tree.leaf_parents):
            children[parent].append((leaf, bool(batch.shared(structure.first_leaves)[index, leaf])))
        for node, parent in enumerate(tree.parents[:-1]):
            first = bool(batch.shared(structure.first_nodes)[index, node])
            children[parent].append((tree.spans[node][0], first))
        for siblings in children:
            assert [first for _, first in sorted(siblings)] == [True] + [False] * (len(siblings) - 1)
        counts = [*map(len, children), *[0] * (batch.m - len(tree))]
        assert batch.shared(structure.child_counts)[index].tolist() == counts


@given(batches)
@settings(max_examples=40)
def test_levels_hold_every_node_once_and_sorted_by_height(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    none = len(batch) * batch.m
    heights = batch.shared(structure.heights).flatten().tolist()
    real = batch.node_mask.flatten().nonzero().flatten().tolist()
    for levels in (structure.exact_levels(batch), structure.bounded_levels(batch)):
        for number, nodes in enumerate(levels.nodes, start=1):
            assert {heights[node] for node in nodes.tolist() if node < none} <= {number}
        together = torch.cat(levels.nodes)
        assert sorted(node for node in together.tolist() if node < none) == real
        assert together[levels.places.flatten()[batch.node_mask.flatten()]].tolist() == real
    exact, bounded = structure.exact_levels(batch), structure.bounded_levels(batch)
    assert len(exact.nodes) == max(heights)
    assert not any((nodes == none).any() for nodes in exact.nodes)
    for one, other in zip(exact.nodes, bounded.nodes, strict=False):
        assert one.tolist() == other[other < none].tolist()


def test_bounded_levels_depend_on_the_shape_alone() -> None:
    words = ["w"] * 7
    chains = Tree(["w"], ["X"], ["X"] * 6, [(0, 1)] * 6)  # as many levels as there are nodes
    sizes = [
        [len(nodes) for nodes in structure.bounded_levels(TreeBatch.from_trees([tree, tree])).nodes]
        for tree in (balanced(words), right_branching(words), chains)
    ]
    assert sizes == [[12, 6, 4, 2, 2, 2]] * 3


@given(batches, st.integers(0, 3))
@settings(max_examples=40)
def test_limits_leave_out_levels_without_nodes_and_nothing_else(examples: list[Tree], spare: int) -> None:
    batch = TreeBatch.from_trees(examples)
    tallest = int(batch.shared(structure.heights).max())
    full = structure.bounded_levels(batch)
    with structure.known_limits(structure.Limits(levels=tallest + spare, folds=0)):
        limited = structure.bounded_levels(batch)
    assert len(limited.nodes) == min(tallest + spare, batch.m)
    assert all(torch.equal(*pair) for pair in zip(limited.nodes, full.nodes, strict=False))
    assert torch.equal(limited.places, full.places)


def test_limits_end_with_their_block() -> None:
    with structure.known_limits(structure.Limits(2, 3)):
        assert structure.current_limits() == (2, 3)
    assert structure.current_limits() is None


def test_levels_are_exact_on_the_cpu() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 8), balanced(["w"] * 4)])
    assert [len(nodes) for nodes in batch.shared(structure.levels).nodes] == [6, 3, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_levels_are_bounded_while_a_graph_is_recorded() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 8)]).to("cuda")
    expected = structure.bounded_levels(batch)
    graph = torch.cuda.CUDAGraph()
    recorded = TreeBatch(batch.spans, batch.node_mask, batch.leaf_mask, depth=batch.depth)
    with torch.cuda.graph(graph):
        actual = structure.levels(recorded)
    graph.replay()
    assert all(torch.equal(*pair) for pair in zip(actual.nodes, expected.nodes, strict=True))
    assert torch.equal(actual.places, expected.places)
