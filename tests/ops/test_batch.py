"""`TreeBatch`: what it derives from spans equals the definitions by ancestors."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops import oracle
from tests.trees.strategies import trees
from treeformer import Tree, TreeBatch
from treeformer.ops.runs import runs_of
from treeformer.trees import balanced

batches = st.lists(trees(max_leaves=10), min_size=1, max_size=4)


def ancestors(tree: Tree, node: int) -> set[int]:
    """The nodes above ``node`` and itself."""
    above = {node}
    while tree.parents[node] >= 0:
        node = tree.parents[node]
        above.add(node)
    return above


@given(batches)
@settings(max_examples=40)
def test_structure_equals_its_definition_by_ancestors(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    for index, tree in enumerate(examples):
        n, m = len(tree.words), len(tree)
        for i in range(m):
            assert batch.node_depths[index, i] == oracle.depth(tree, i)
            assert batch.leaf_counts[index, i] == len(oracle.leaves_under(tree, i))
            for j in range(n):
                assert batch.branch_sizes[index, i, j] == len(oracle.branch(tree, i, j))
        assert batch.leaf_depths[index, :n].tolist() == list(tree.leaf_depths)
    assert batch.depth == max(max(tree.leaf_depths) for tree in examples)


@given(batches)
@settings(max_examples=40)
def test_the_subtree_mask_equals_its_definition(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    for index, tree in enumerate(examples):
        n, m = len(tree.words), len(tree)
        expected = torch.zeros(batch.n + batch.m, batch.n + batch.m, dtype=torch.bool)
        for key in range(n):
            expected[: batch.n, key] = True  # leaves see leaves
            for node in ancestors(tree, tree.leaf_parents[key]):
                expected[batch.n + node, key] = True
        for key in range(m):
            for node in ancestors(tree, key):
                expected[batch.n + node, batch.n + key] = True
        for node in range(m, batch.m):
            expected[batch.n + node, batch.n + node] = True  # padding sees itself
        assert torch.equal(batch.visible[index], expected)


@given(batches)
@settings(max_examples=40)
def test_subtrees_are_runs_of_nodes(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    runs = runs_of(batch)
    for index, tree in enumerate(examples):
        for node in range(len(tree)):
            below = [t for t in range(len(tree)) if node in ancestors(tree, t)]
            assert below == list(range(int(runs.first[index, node]), node + 1))
            assert runs.sizes[index, node] == len(below)
            assert runs.node_depths[index, node] == oracle.depth(tree, node)
        for leaf in range(len(tree.words)):
            assert runs.leaf_depths[index, leaf] == len(oracle.branch(tree, len(tree) - 1, leaf))
    assert torch.equal(runs.sizes > 0, batch.node_mask)
    assert torch.equal(runs.node_depths, batch.node_depths)
    assert torch.equal(runs.leaf_depths, batch.leaf_depths)


@given(st.integers(1, 5), st.data())
@settings(max_examples=200)
def test_spans_are_refused_unless_each_pair_is_apart_or_nested(n: int, data: st.DataObject) -> None:
    span = st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda span: span[0] < span[1])
    spans = [*data.draw(st.lists(span, max_size=4)), (0, n)]
    if data.draw(st.booleans()):
        spans.sort(key=lambda span: (span[1], -span[0]))
    proper = all(
        earlier[1] <= later[0] or (later[0] <= earlier[0] and earlier[1] <= later[1])
        for number, later in enumerate(spans)
        for earlier in spans[:number]
    )
    with nullcontext() if proper else pytest.raises(ValueError, match="children before parents"):
        TreeBatch.from_spans(torch.tensor([spans]), torch.ones(1, len(spans)), torch.tensor([n]))


@given(batches)
@settings(max_examples=40)
def test_spans_alone_give_the_same_batch(examples: list[Tree]) -> None:
    expected = TreeBatch.from_trees(examples)
    n_leaves = torch.tensor([len(tree.words) for tree in examples])
    garbage = expected.spans.masked_fill(~expected.node_mask[..., None], 77)
    batch = TreeBatch.from_spans(garbage, expected.node_mask.int(), n_leaves)
    assert torch.equal(batch.spans, expected.spans)
    assert torch.equal(batch.leaf_mask, expected.leaf_mask)
    assert batch.depth == expected.depth
    assert torch.equal(batch.visible, expected.visible)
    wider = TreeBatch.from_spans(garbage, expected.node_mask, n_leaves, width=expected.n + 3)
    assert torch.equal(wider.covers[..., : expected.n], expected.covers)
    assert not wider.covers[..., expected.n :].any()


def test_what_is_derived_is_derived_once() -> None:
    calls = []

    def derive(batch: TreeBatch, number: int) -> int:
        calls.append(number)
        return number + len(batch)

    batch = TreeBatch.from_trees([balanced(["w"] * 3)])
    assert [batch.shared(derive, 1), batch.shared(derive, 1), batch.shared(derive, 2)] == [2, 2, 3]
    assert calls == [1, 2]


def test_it_moves_to_a_device() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 3)])
    moved = batch.to("meta")
    assert moved.spans.device.type == moved.leaf_mask.device.type == moved.covers.device.type == "meta"
    assert moved.depth == batch.depth


@pytest.mark.parametrize(
    ("spans", "mask", "leaves", "message"),
    [
        (
            [[[0, 2], [1, 3], [0, 3]]],
            None,
            [3],
            r"spans that nest, children before parents, got \[1, 3\] at \[0, 1\]",
        ),
        ([[[0, 3], [0, 2]]], None, [3], r"root, to cover all leaves, got \[0, 2\] at \[0\]"),
        ([[[0, 2], [0, 1], [0, 3]]], None, [3], r"children before parents, got \[0, 1\] at \[0, 1\]"),
        ([[[0, 2]]], None, [3], r"cover all leaves, got \[0, 2\]"),
        ([[[1, 1], [0, 2]]], None, [2], r"start < end <= number of leaves, got \[1, 1\] at \[0, 0\]"),
        ([[[-1, 2], [0, 2]]], None, [2], r"0 <= start .*, got \[-1, 2\]"),
        ([[[0, 4], [0, 3]]], None, [3], r"<= number of leaves, got \[0, 4\]"),
        ([[[0, 2], [0, 2]]], [[0, 1]], [2], "real nodes first, then padding"),
        ([[[0, 2]]], [[0]], [2], "one node at least"),
        ([[[0, 1]]], None, [0], "width: expected at least 1 leaf, got 0"),
        ([[[0, 2]]], [[1, 1]], [2], r"node_mask: expected the shape \[1, 1\]"),
        ([[[0, 2]]], None, [2, 2], r"n_leaves: expected one number for each of 1 trees, got a shape \[2\]"),
        ([[0, 2]], None, [2], r"node_spans: expected a shape \[batch, nodes, 2\], got \[1, 2\]"),
        ([[[0.0, 2.0]]], None, [2], "node_spans: expected integers, got torch.float32"),
    ],
)
def test_spans_that_are_no_trees_are_refused(spans, mask, leaves, message) -> None:  # type: ignore[no-untyped-def]
    node_spans = torch.tensor(spans)
    node_mask = torch.ones(node_spans.shape[:2]) if mask is None else torch.tensor(mask)
    with pytest.raises(ValueError, match=message):
        TreeBatch.from_spans(node_spans, node_mask, torch.tensor(leaves))


def test_a_batch_without_trees_is_refused() -> None:
    with pytest.raises(ValueError, match="trees: expected at least one tree, got none"):
        TreeBatch.from_trees([])
    with pytest.raises(ValueError, match="at least one tree and one node"):
        TreeBatch.from_spans(
            torch.zeros(0, 3, 2, dtype=torch.long), torch.zeros(0, 3), torch.zeros(0, dtype=torch.long)
        )
