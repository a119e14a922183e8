"""Tree attention: what a node and a leaf can see, and that padding and other examples do not matter."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.closeness import difference
from tests.ops import oracle
from tests.trees.strategies import trees
from treeformer import Tree, TreeBatch
from treeformer.nn import AttentionRecord, TreeAttention
from treeformer.trees import balanced, right_branching

VARIANTS: list[dict[str, object]] = [
    {},
    {"convention": "released"},
    {"hierarchical_embeddings": False},
    {"accumulate": False},
    {"subtree_mask": False},
]
batches = st.lists(trees(max_leaves=10), min_size=2, max_size=4)


def attention_with(variant: dict[str, object]) -> TreeAttention:
    torch.manual_seed(0)
    attention = TreeAttention(16, 2, vertical_rows=3, horizontal_rows=4, **variant)  # type: ignore[arg-type]
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return attention.eval()


def positions_of(tree: Tree, batch: TreeBatch) -> list[int]:
    """Where the leaves and nodes of a tree stand among the states of its batch."""
    return [*range(len(tree.words)), *range(batch.n, batch.n + len(tree))]


@pytest.mark.parametrize("variant", VARIANTS)
@given(examples=batches)
@settings(max_examples=15)
def test_an_examples_output_does_not_depend_on_its_batch(
    variant: dict[str, object], examples: list[Tree]
) -> None:
    attention = attention_with(variant)
    together = TreeBatch.from_trees(examples)
    states = torch.randn(len(examples), together.n + together.m, 16)
    targets = torch.randn(len(examples), 3, 16)
    outputs = attention(states, together), attention.cross(targets, states, together)
    for index, tree in enumerate(examples):
        places = positions_of(tree, together)
        example, alone = states[[index]][:, places], TreeBatch.from_trees([tree])
        assert difference(outputs[0][[index]][:, places], attention(example, alone)) < 2e-6
        assert difference(outputs[1][[index]], attention.cross(targets[[index]], example, alone)) < 2e-6


@pytest.mark.parametrize("variant", VARIANTS)
@given(examples=batches)
@settings(max_examples=15)
def test_nan_in_padding_reaches_nothing(variant: dict[str, object], examples: list[Tree]) -> None:
    attention = attention_with(variant)
    batch = TreeBatch.from_trees(examples)
    clean = torch.randn(len(examples), batch.n + batch.m, 16)
    dirty = clean.masked_fill(~batch.mask[..., None], torch.nan).requires_grad_()
    targets = torch.randn(len(examples), 3, 16)
    outputs = attention(dirty, batch), attention.cross(targets, dirty, batch)
    real = batch.mask
    torch.testing.assert_close(outputs[0][real], attention(clean, batch)[real], rtol=0, atol=1e-6)
    torch.testing.assert_close(outputs[1], attention.cross(targets, clean, batch), rtol=0, atol=1e-6)
    (outputs[0][real].sum() + outputs[1].sum()).backward()
    assert dirty.grad is not None
    assert dirty.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in attention.parameters())


@given(tree=trees(max_leaves=6))
@settings(max_examples=20)
def test_it_equals_softmax_over_values_accumulated_by_loops(tree: Tree) -> None:
    attention = attention_with({}).double()
    batch = TreeBatch.from_trees([tree])
    states = torch.randn(1, batch.n + batch.m, 16, dtype=torch.float64)
    queries, keys, values = (tensor[0] for tensor in attention.project(states))
    accumulation = attention.accumulation
    assert accumulation is not None
    weights = states[0, : batch.n] @ accumulation.leaf_weight.weight[0]
    expected = []
    for head in range(2):
        nodes = oracle.accumulate(
            tree,
            values[head, : batch.n],
            values[head, batch.n :],
            weights,
            accumulation.vertical,
            accumulation.horizontal,
            "paper",
        )
        scores = (queries[head] @ keys[head].T / 8**0.5).masked_fill(~batch.visible[0], -torch.inf)
        expected.append(scores.softmax(-1) @ torch.cat([values[head, : batch.n], nodes]))
    wanted = attention.output(torch.cat(expected, dim=-1))
    torch.testing.assert_close(attention(states, batch)[0], wanted, rtol=0, atol=1e-9)


def test_a_record_holds_weights_that_keep_the_subtree_mask() -> None:
    attention = attention_with({})
    batch = TreeBatch.from_trees([balanced(["w"] * 5)])
    states = torch.randn(1, batch.n + batch.m, 16)
    record: list[AttentionRecord] = []
    torch.testing.assert_close(attention(states, batch, record=record), attention(states, batch))
    weights, leaf_weights = record[0]
    assert leaf_weights is not None
    assert leaf_weights.shape == (1, 1, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 9))
    assert not weights.masked_select(~batch.visible[:, None]).any()


def test_released_has_one_leaf_weight_a_head_with_a_bias() -> None:
    released, paper = attention_with({"convention": "released"}), attention_with({})
    assert released.accumulation is not None
    assert paper.accumulation is not None
    assert released.accumulation.leaf_weight.weight.shape == (2, 16)
    assert released.accumulation.leaf_weight.bias is not None
    assert paper.accumulation.leaf_weight.weight.shape == (1, 16)
    assert paper.accumulation.leaf_weight.bias is None


@pytest.mark.parametrize("cast", ["autocast", "weights"])
def test_under_bf16_the_leaf_weights_are_float32(cast: str) -> None:
    attention = attention_with({})
    batch = TreeBatch.from_trees([right_branching(["w"] * 20)])
    states = torch.randn(1, batch.n + batch.m, 16)
    exact = attention(states, batch)
    record: list[AttentionRecord] = []
    if cast == "weights":
        actual = attention.bfloat16()(states.bfloat16(), batch, record=record)
    else:
        with torch.autocast("cpu", torch.bfloat16):
            actual = attention(states, batch, record=record)
    assert actual.dtype == torch.bfloat16
    assert record[0].leaf_weights is not None
    assert record[0].leaf_weights.dtype == torch.float32
    assert record[0].weights.dtype == torch.float32
    assert (actual.float() - exact).norm() / exact.norm() < 0.05


@pytest.mark.parametrize("implementation", ["cells", "matrix", "compiled", "naive"])
def test_the_implementation_does_not_matter(implementation: str) -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 9), right_branching(["w"] * 4)])
    states = torch.randn(2, batch.n + batch.m, 16)
    actual: Tensor = attention_with({"implementation": implementation})(states, batch)
    torch.testing.assert_close(actual, attention_with({})(states, batch), rtol=1e-5, atol=1e-5)


def test_states_that_do_not_fit_the_trees_are_refused() -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 5)])
    with pytest.raises(
        ValueError, match=r"states: expected 5 leaves and 4 nodes .* got a shape \[1, 8, 16\]"
    ):
        attention_with({})(torch.zeros(1, 8, 16), batch)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 9, "heads": 3}, "heads: expected an even head width, got 9 / 3"),
        ({"vertical_rows": 0}, "vertical_rows: expected at least 1, got 0"),
        ({"horizontal_rows": 0}, "horizontal_rows: expected at least 1, got 0"),
        ({"convention": "papers"}, "convention: expected one of paper, released, got 'papers'"),
        (
            {"implementation": "fast"},
            "implementation: expected one of auto, cells, matrix, compiled, naive, got 'fast'",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeAttention(**{"d_model": 16, "heads": 2, **options})  # type: ignore[arg-type]


def test_dropout_touches_neither_leaf_weights_nor_accumulated_values() -> None:
    torch.manual_seed(0)
    attention = TreeAttention(16, 2, dropout=0.5).train()
    batch = TreeBatch.from_trees([balanced(["w"] * 9)])
    states = torch.randn(1, batch.n + batch.m, 16)
    records: list[AttentionRecord] = []
    outputs = [attention(states, batch, record=records) for _ in range(2)]
    assert not torch.equal(*outputs)
    first, second = records
    assert first.leaf_weights is not None
    assert second.leaf_weights is not None
    assert torch.equal(first.leaf_weights, second.leaf_weights)
    assert torch.equal(*(attention.read_memory(states, batch)[1] for _ in range(2)))


def test_a_batch_that_inference_used_first_can_be_trained_on() -> None:
    attention, batch = attention_with({}), TreeBatch.from_trees([balanced(["w"] * 5)])
    states = torch.randn(1, batch.n + batch.m, 16)
    with torch.inference_mode():
        attention(states, batch)
    attention(states, batch).sum().backward()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_literal_steps_work_in_half_precision_too(dtype: torch.dtype) -> None:
    batch = TreeBatch.from_trees([balanced(["w"] * 9)])
    states = torch.randn(1, batch.n + batch.m, 16)
    exact = attention_with({})(states, batch)
    for implementation in ("cells", "matrix", "compiled", "naive"):
        attention = attention_with({"implementation": implementation}).to(dtype)
        actual = attention(states.to(dtype), batch)
        assert actual.dtype == dtype
        assert difference(actual.float(), exact) < 0.05
