"""Packed states: the positions that exist, in order, and attention over them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.nn.test_tree_attention import VARIANTS, attention_with
from tests.trees.strategies import trees
from treeformer import Tree, TreeBatch
from treeformer.nn import AttentionRecord, TreeAttention
from treeformer.nn.packing import packed, spread_heads, unpacked

batches = st.lists(trees(max_leaves=8), min_size=1, max_size=4)


def packed_by_loops(leaves: Tensor, nodes: Tensor, examples: list[Tree]) -> Tensor:
    rows = [leaves[b, j] for b, tree in enumerate(examples) for j in range(len(tree.words))]
    rows += [nodes[b, i] for b, tree in enumerate(examples) for i in range(len(tree))]
    return torch.stack(rows)


def randoms(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


@given(examples=batches)
@settings(max_examples=30)
def test_packed_states_are_those_of_leaves_and_then_of_nodes(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    leaves, nodes = randoms(len(batch), batch.n, 4), randoms(len(batch), batch.m, 4)
    states, expected = packed(leaves, nodes, batch), packed_by_loops(leaves, nodes, examples)
    assert torch.equal(states, expected)
    direction = torch.randn_like(states)
    for actual, wanted in zip(
        torch.autograd.grad(states, (leaves, nodes), direction),
        torch.autograd.grad(expected, (leaves, nodes), direction),
        strict=True,
    ):
        assert torch.equal(actual, wanted)


@given(examples=batches)
@settings(max_examples=30)
def test_unpacked_states_stand_in_their_places_with_zeros_in_the_padding(examples: list[Tree]) -> None:
    batch = TreeBatch.from_trees(examples)
    padded = torch.randn(len(batch), batch.n + batch.m, 4)
    states = packed(*padded.split([batch.n, batch.m], dim=1), batch)
    assert torch.equal(unpacked(states, batch), padded.masked_fill(~batch.mask[..., None], 0))


@given(examples=batches)
@settings(max_examples=30)
def test_heads_are_spread_over_leaves_and_nodes(examples: list[Tree]) -> None:
    batch, heads, width = TreeBatch.from_trees(examples), 2, 3
    n = batch.n
    states = randoms(int(batch.mask.sum()), 3 * heads * width)
    by_head = unpacked(states, batch).unflatten(2, (3, heads, width)).permute(2, 0, 3, 1, 4)
    queries, keys, values = by_head
    expected = (
        queries[:, :, :n],
        queries[:, :, n:],
        keys[:, :, :n],
        keys,
        values[:, :, :n],
        values[:, :, n:],
    )
    here = batch.mask[:, None, :, None]
    masks = (here[:, :, :n], here[:, :, n:], here[:, :, :n], here, here[:, :, :n], here[:, :, n:])
    totals = [torch.zeros((), dtype=torch.float64)] * 2
    for actual, wanted, mask in zip(spread_heads(states, batch, heads), expected, masks, strict=True):
        assert torch.equal(actual * mask, wanted)
        direction = torch.randn(wanted.shape, dtype=torch.float64) * mask
        totals = [totals[0] + (actual * direction).sum(), totals[1] + (wanted * direction).sum()]
    actual, wanted = (torch.autograd.grad(total, states)[0] for total in totals)
    torch.testing.assert_close(actual, wanted, rtol=0, atol=1e-12)


def gradients(attention: TreeAttention, states: Tensor, batch: TreeBatch, outputs: Tensor) -> list[Tensor]:
    torch.manual_seed(1)
    direction = torch.randn(outputs.shape, dtype=torch.float64) * batch.mask[..., None]
    parameters = [*attention.parameters(), states]
    found = torch.autograd.grad(outputs, parameters, direction, allow_unused=True)
    return [torch.zeros(()) if gradient is None else gradient for gradient in found]


@pytest.mark.parametrize("variant", VARIANTS)
@given(examples=batches)
@settings(max_examples=15)
def test_attention_over_packed_states_equals_the_literal_one_over_all_pairs(
    variant: dict[str, object], examples: list[Tree]
) -> None:
    literal = attention_with({**variant, "implementation": "naive"}).double()
    attention = attention_with(variant).double()
    batch = TreeBatch.from_trees(examples)
    states = randoms(len(batch), batch.n + batch.m, 16)
    record: list[AttentionRecord] = []  # with a record, everything is computed over padded positions
    expected, actual = literal(states, batch, record=record), attention(states, batch)
    mask = batch.mask[..., None]
    torch.testing.assert_close(actual * mask, expected * mask, rtol=0, atol=1e-9)
    for one, other in zip(
        gradients(attention, states, batch, actual), gradients(literal, states, batch, expected), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    if attention.subtree_mask:
        flat = attention(packed(*states.split([batch.n, batch.m], dim=1), batch), batch)
        assert torch.equal(unpacked(flat, batch), actual)
