"""Composition level by level equals plain recursion over each tree, with all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.nn.recursion import composed_nodes
from tests.trees.strategies import plain_labels, trees
from treeformer import Tree, TreeBatch
from treeformer.nn import TreeComposition
from treeformer.ops import levels as structure
from treeformer.trees import balanced, left_branching, right_branching

WIDTH = 5
EXACT = {"rtol": 0, "atol": 1e-9}
CHAIN = Tree(["w"], ["X"], ["X"] * 9, [(0, 1)] * 9)
ONE = Tree(["w"], ["X"], ["X"], [(0, 1)])
LEVELS, FOLDS = 30, 31  # of WIDE: one over the only child, 29 over 30 words, one over both
WIDE = Tree(["w"] * 31, ["X"] * 31, ["X", "X", "X"], [(0, 1), (1, 31), (0, 31)])


def randomised() -> TreeComposition:
    """A composition in float64, with weights that make gates differ."""
    torch.manual_seed(0)
    model = TreeComposition(WIDTH, 7).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


def inputs_of(batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """Random leaves and labels, NaN where padded."""
    chance = torch.Generator().manual_seed(1)
    leaves, labels = (
        torch.randn(*mask.shape, WIDTH, generator=chance, dtype=torch.float64)
        .masked_fill(~mask[..., None], torch.nan)
        .requires_grad_()
        for mask in (batch.leaf_mask, batch.node_mask)
    )
    return leaves, labels


def gradients(model: TreeComposition, states: list[Tensor], inputs: tuple[Tensor, Tensor]) -> list[Tensor]:
    """Gradients of a weighted sum of the states with respect to parameters and inputs."""
    chance = torch.Generator().manual_seed(2)
    weighted = [
        (state * torch.randn(state.shape, generator=chance, dtype=torch.float64)).sum() for state in states
    ]
    return list(torch.autograd.grad(torch.stack(weighted).sum(), [*model.parameters(), *inputs]))


def states_and_gradients(model: TreeComposition, examples: list[Tree]) -> list[Tensor]:
    batch = TreeBatch.from_trees(examples)
    inputs = inputs_of(batch)
    actual = model(*inputs, batch)
    assert not actual[~batch.node_mask].any()
    states = [actual[index, : len(tree)] for index, tree in enumerate(examples)]
    return [*states, *gradients(model, states, inputs)]


def equals_recursion(examples: list[Tree]) -> None:
    model = randomised()
    actual = states_and_gradients(model, examples)
    leaves, labels = inputs = inputs_of(TreeBatch.from_trees(examples))
    expected = [
        composed_nodes(tree, leaves[index], labels[index], model.cell) for index, tree in enumerate(examples)
    ]
    for one, other in zip(actual, [*expected, *gradients(model, expected, inputs)], strict=True):
        torch.testing.assert_close(one, other, **EXACT)  # type: ignore[arg-type]


@given(st.lists(trees(max_leaves=10, node_labels=plain_labels()), min_size=1, max_size=4))
@settings(max_examples=30)
def test_composition_equals_recursion(examples: list[Tree]) -> None:
    equals_recursion(examples)


def test_one_word_chains_many_children_and_very_different_sizes_equal_recursion() -> None:
    words = ["w"] * 100
    equals_recursion([ONE])
    equals_recursion([ONE, right_branching(words), CHAIN, balanced(words[:40]), WIDE])
    equals_recursion([left_branching(words[:50]), CHAIN, ONE])


def test_bounded_levels_give_the_same_states_and_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [balanced(["w"] * 9), WIDE, ONE, CHAIN]
    model = randomised()
    results = []
    for levels, limits in (
        (structure.exact_levels, None),
        (structure.bounded_levels, None),
        (structure.bounded_levels, structure.Limits(levels=LEVELS, folds=FOLDS)),
        (structure.bounded_levels, structure.Limits(levels=LEVELS + 3, folds=FOLDS + 2)),
    ):
        monkeypatch.setattr("treeformer.nn.recurrence.levels", levels)
        with structure.known_limits(limits):
            results.append(states_and_gradients(model, examples))
    for padded in results[1:]:
        for one, other in zip(results[0], padded, strict=True):
            torch.testing.assert_close(one, other, **EXACT)  # type: ignore[arg-type]


def test_recording_a_graph_reads_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeformer.nn.recurrence.levels", structure.bounded_levels)
    model, batch = randomised().to("meta"), TreeBatch.from_trees([WIDE, CHAIN])  # tensors without values
    leaves, labels = (part.detach().to("meta") for part in inputs_of(batch))
    model(leaves, labels, batch.to("meta")).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_graph_composes_new_trees_of_the_same_shape() -> None:
    model = randomised().cuda()
    words = ["w"] * 9
    batches = [TreeBatch.from_trees([tree]).to("cuda") for tree in (balanced(words), right_branching(words))]
    leaves, labels = (part.detach() for part in inputs_of(batches[0].to("cpu")))
    leaves, labels = leaves.cuda(), labels.cuda()
    with torch.no_grad():
        expected = [model(leaves, labels, batch) for batch in batches]
        spans = batches[0].spans.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            recorded = TreeBatch(spans, batches[0].node_mask, batches[0].leaf_mask, depth=batches[0].m)
            actual = model(leaves, labels, recorded)
        for batch, states in zip(batches, expected, strict=True):
            spans.copy_(batch.spans)
            graph.replay()
            torch.testing.assert_close(actual, states)


def test_order_of_children_label_and_each_of_three_children_matter() -> None:
    model = randomised()
    batch = TreeBatch.from_trees([Tree.from_brackets("(S (A a) (B b) (C c))")])
    leaves, labels = (part.detach() for part in inputs_of(batch))
    states = model(leaves, labels, batch)
    for order in ([1, 0, 2], [0, 2, 1], [2, 1, 0]):
        assert not torch.allclose(model(leaves[:, order], labels, batch), states)
    assert not torch.allclose(model(leaves, labels + 1, batch), states)


def test_states_start_with_variance_one_at_every_height() -> None:
    torch.manual_seed(0)
    model, batch = TreeComposition(64), TreeBatch.from_trees([left_branching(["w"] * 60)])
    states = model(torch.randn(1, 60, 64), torch.randn(1, 59, 64), batch)
    torch.testing.assert_close(states.var(-1, correction=0), torch.ones(1, 59), rtol=0, atol=1e-3)


def test_dropout_acts_in_training_alone() -> None:
    model, batch = TreeComposition(WIDTH, dropout=0.5), TreeBatch.from_trees([balanced(["w"] * 6)])
    inputs = torch.randn(1, 6, WIDTH), torch.randn(1, 5, WIDTH)
    assert not torch.equal(model(*inputs, batch), model(*inputs, batch))
    model.eval()
    assert torch.equal(model(*inputs, batch), model(*inputs, batch))


def test_states_stay_in_float32_under_autocast_and_bfloat16_works() -> None:
    model, batch = randomised().float(), TreeBatch.from_trees([right_branching(["w"] * 30), WIDE])
    inputs = [part.detach().float() for part in inputs_of(batch)]
    exact = model(*inputs, batch)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = model(*inputs, batch)
    assert coarse.dtype == torch.float32
    assert not torch.equal(coarse, exact)
    torch.testing.assert_close(coarse, exact, rtol=0.2, atol=0.2)
    rounded = model.bfloat16()(*[part.bfloat16() for part in inputs], batch)
    assert rounded.dtype == torch.bfloat16
    assert rounded.isfinite().all()
