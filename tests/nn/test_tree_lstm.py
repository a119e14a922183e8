"""Tree-LSTMs level by level equal plain recursion over each tree, with all gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.nn.recursion import nodes_of
from tests.trees.strategies import plain_labels, trees
from treeformer import Tree, TreeBatch
from treeformer.nn.lstm_cell import LstmCell, LstmState
from treeformer.nn.tree_lstm import TreeLstm, WordCell
from treeformer.ops import levels as structure
from treeformer.trees import balanced, left_branching, right_branching

WIDTH = 5
EXACT = {"rtol": 0, "atol": 1e-9}
COMPOSITIONS = ["child-sum", "binary"]


def randomised(composition: str) -> TreeLstm:
    """A Tree-LSTM in float64, with weights that make gates differ."""
    torch.manual_seed(0)
    model = TreeLstm(WIDTH, composition).double()  # type: ignore[arg-type]
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


def leaves_of(batch: TreeBatch) -> LstmState:
    """Random states of leaves, NaN where padded."""
    chance = torch.Generator().manual_seed(1)
    shape = len(batch), batch.n, WIDTH
    parts = (torch.randn(shape, generator=chance, dtype=torch.float64) for _ in range(2))
    return LstmState(
        *(part.masked_fill(~batch.leaf_mask[..., None], torch.nan).requires_grad_() for part in parts)
    )


def results_and_gradients(
    model: TreeLstm, results: list[Tensor], leaves: LstmState
) -> tuple[list[Tensor], list[Tensor]]:
    """The results, and what their weighted sum gives every parameter and every leaf as gradient."""
    chance = torch.Generator().manual_seed(2)
    total = sum(
        (result * torch.randn(result.shape, generator=chance, dtype=torch.float64)).sum()
        for result in results
    )
    wanted = [*model.parameters(), *leaves]
    return results, list(torch.autograd.grad(total, wanted))  # type: ignore[arg-type]


def real(states: LstmState, examples: list[Tree]) -> list[Tensor]:
    return [part[index, : len(tree)] for index, tree in enumerate(examples) for part in states]


def equals_recursion(examples: list[Tree], composition: str) -> None:
    model, batch = randomised(composition), TreeBatch.from_trees(examples)
    leaves = leaves_of(batch)
    actual = model(leaves, batch)
    for part in actual:
        assert not part[~batch.node_mask].any()
    ours = results_and_gradients(model, real(actual, examples), leaves)
    expected = []
    for index, tree in enumerate(examples):
        example = [part[index, : len(tree.words)] for part in leaves]
        expected += nodes_of(tree, *example, model.composition)
    theirs = results_and_gradients(model, expected, leaves)
    for one, other in zip([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], strict=True):
        torch.testing.assert_close(one, other, **EXACT)  # type: ignore[arg-type]


@given(st.lists(trees(max_leaves=10, node_labels=plain_labels()), min_size=1, max_size=4))
@settings(max_examples=30)
def test_child_sum_equals_recursion(examples: list[Tree]) -> None:
    equals_recursion(examples, "child-sum")


@given(st.lists(trees(max_leaves=10, max_arity=2, node_labels=plain_labels()), min_size=1, max_size=4))
@settings(max_examples=30)
def test_binary_equals_recursion(examples: list[Tree]) -> None:
    equals_recursion(examples, "binary")


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_one_word_chains_and_very_different_sizes_equal_recursion(composition: str) -> None:
    words = [f"w{k}" for k in range(200)]
    chain = Tree(["w"], ["X"], ["X"] * 9, [(0, 1)] * 9)
    one = Tree(["w"], ["X"], ["X"], [(0, 1)])
    equals_recursion([one], composition)
    equals_recursion([one, right_branching(words), chain, balanced(words[:40])], composition)
    equals_recursion([left_branching(words[:50]), chain, one], composition)


def test_thirty_children_equal_recursion() -> None:
    wide = Tree(["w"] * 30, ["X"] * 30, ["X"], [(0, 30)])
    deeper = Tree(["w"] * 31, ["X"] * 31, ["X", "X", "X"], [(0, 1), (1, 31), (0, 31)])
    equals_recursion([wide, deeper], "child-sum")


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_bounded_levels_give_the_same_states_and_gradients(
    composition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = [balanced(["w"] * 9), right_branching(["w"] * 40), Tree(["w"], ["X"], ["X"], [(0, 1)])]
    model = randomised(composition)
    actual = []
    for levels, limits in (
        (structure.exact_levels, None),
        (structure.bounded_levels, None),
        (structure.bounded_levels, structure.Limits(levels=39, folds=39)),  # the height of the second tree
    ):
        monkeypatch.setattr("treeformer.nn.recurrence.levels", levels)
        batch = TreeBatch.from_trees(examples)
        leaves = leaves_of(batch)
        with structure.known_limits(limits):
            actual.append(results_and_gradients(model, real(model(leaves, batch), examples), leaves))
    for padded in actual[1:]:
        for one, other in zip([*actual[0][0], *actual[0][1]], [*padded[0], *padded[1]], strict=True):
            torch.testing.assert_close(one, other, **EXACT)  # type: ignore[arg-type]


def test_a_node_with_more_than_two_children_is_refused_by_the_binary_composition() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 4), Tree.from_brackets("(S (A a) (B b) (C c))")])
    with pytest.raises(ValueError, match=r"node_spans: expected binarised trees .* got 3 at \[1, 0\]"):
        randomised("binary")(leaves_of(batch), batch)


def test_an_unknown_composition_is_refused() -> None:
    with pytest.raises(ValueError, match="composition: expected one of child-sum, binary, got 'ternary'"):
        TreeLstm(4, "ternary")  # type: ignore[arg-type]


def test_the_two_children_of_a_binary_node_are_told_apart_and_those_of_a_sum_are_not() -> None:
    batch = TreeBatch.from_trees([balanced(["a", "b"])])
    leaves = leaves_of(batch)
    turned = LstmState(*(part.flip(1) for part in leaves))
    for composition, same in (("child-sum", True), ("binary", False)):
        model = randomised(composition)
        pair = (model(states, batch).hidden for states in (leaves, turned))
        assert torch.allclose(*pair) == same


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_forget_gates_start_open_and_all_other_biases_at_zero(composition: str) -> None:
    for name, parameter in TreeLstm(WIDTH, composition).named_parameters():  # type: ignore[arg-type]
        if "bias" in name:
            assert (parameter == ("forget" in name)).all(), name


def test_a_word_enters_its_cell_as_its_gates_say() -> None:
    words = WordCell(3, WIDTH).double()
    vectors = torch.randn(2, 4, 3, dtype=torch.float64)
    i, o, u = (vectors @ words.gates.weight.T + words.bias).chunk(3, dim=-1)
    actual = words(vectors)
    torch.testing.assert_close(actual.cell, i.sigmoid() * u.tanh())
    torch.testing.assert_close(actual.hidden, o.sigmoid() * torch.tanh(i.sigmoid() * u.tanh()))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_cells_stay_in_float32_under_autocast(composition: str) -> None:
    model = randomised(composition).float()
    batch = TreeBatch.from_trees([right_branching(["w"] * 30), balanced(["w"] * 9)])
    leaves = LstmState(*(part.detach().float() for part in leaves_of(batch)))
    exact = model(leaves, batch)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = model(leaves, batch)
    for one, other in zip(coarse, exact, strict=True):
        assert one.dtype == torch.float32
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1)


def test_the_sequential_cell_equals_torchs_lstm() -> None:
    torch.manual_seed(0)
    ours, theirs = LstmCell(3, WIDTH).double(), nn.LSTM(3, WIDTH, batch_first=True).double()
    # torch's gates are input, forget, update, output; ours input, output, update, forget
    with torch.no_grad():
        for name, weight in (("ih", ours.input.weight), ("hh", ours.recurrent.weight)):
            i, o, u, f = weight.chunk(4)
            getattr(theirs, f"weight_{name}_l0").copy_(torch.cat([i, f, u, o]))
        theirs.bias_hh_l0.zero_()
        theirs.bias_ih_l0.copy_(torch.cat([torch.zeros(WIDTH), torch.ones(WIDTH), torch.zeros(2 * WIDTH)]))
    vectors = torch.randn(2, 7, 3, dtype=torch.float64)
    actual = ours(vectors)
    hidden, (_, last) = theirs(vectors)
    torch.testing.assert_close(actual.hidden, hidden)
    torch.testing.assert_close(actual.cell[:, -1], last[0])
