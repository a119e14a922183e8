"""Folds of a batch are the trees binarised to the left."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.strategies import plain_labels, trees
from treeformer import Tree, TreeBatch
from treeformer.ops.folding import folded
from treeformer.trees import balanced, binarise, right_branching


@given(st.lists(trees(max_leaves=12, node_labels=plain_labels()), min_size=1, max_size=4))
@settings(max_examples=60)
def test_folds_are_the_nodes_of_the_trees_binarised_to_the_left(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    folds, nodes, tops = batch.shared(folded)
    assert folds.m == max(len(binarise(tree, "left")) for tree in examples)
    for index, tree in enumerate(examples):
        numbered = Tree(tree.words, tree.tags, [str(node) for node in range(len(tree))], tree.spans)
        expected = binarise(numbered, "left")
        count = len(expected)
        assert folds.node_mask[index].tolist() == [fold < count for fold in range(folds.m)]
        assert [tuple(span) for span in folds.spans[index, :count].tolist()] == list(expected.spans)
        assert nodes[index, :count].tolist() == [int(label.lstrip("@")) for label in expected.labels]
        assert tops[index, : len(tree)].tolist() == [
            expected.labels.index(str(node)) for node in range(len(tree))
        ]


def test_binary_trees_are_their_folds() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 9), right_branching(["w"] * 5)])
    folds, nodes, tops = batch.shared(folded)
    assert torch.equal(folds.spans, batch.spans)
    expected = torch.arange(8).expand(2, 8).masked_fill(~batch.node_mask, 0)
    assert torch.equal(nodes, expected)
    assert torch.equal(tops, expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_folds_on_a_gpu_are_padded_to_what_the_shape_allows() -> None:
    batch = TreeBatch.from_trees([Tree.from_brackets("(S (A a) (B b) (C c))"), balanced(["w"] * 4)])
    exact, padded = batch.shared(folded), batch.to("cuda").shared(folded)
    assert padded.batch.m == batch.n + batch.m - 1
    assert torch.equal(padded.batch.spans[:, : exact.batch.m].cpu(), exact.batch.spans)
    assert not padded.batch.node_mask[:, exact.batch.m :].any()
    assert torch.equal(padded.tops.cpu(), exact.tops)
