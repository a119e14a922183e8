"""Vectors of tokens and positions."""

from __future__ import annotations

import math

import pytest
import torch

from treeformer.nn import ScaledEmbedding, sinusoids


def test_vectors_are_scaled_and_the_padding_row_is_zero() -> None:
    torch.manual_seed(0)
    embedding = ScaledEmbedding(2000, 64, padding=7)
    assert not embedding.weight[7].any()
    assert embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    ids = torch.tensor([[3, 7, 5]])
    torch.testing.assert_close(embedding(ids), embedding.weight[ids] * 8)


def test_a_lookup_of_padding_gives_no_gradient() -> None:
    embedding = ScaledEmbedding(10, 4, padding=0)
    embedding(torch.tensor([0, 3])).sum().backward()
    assert embedding.weight.grad is not None
    assert embedding.weight.grad.abs().sum(1).nonzero().flatten().tolist() == [3]


def test_a_padding_row_outside_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="padding: expected a row of the table, 0 to 9, got 10"):
        ScaledEmbedding(10, 4, padding=10)


@pytest.mark.parametrize("width", [6, 7])
def test_positions_follow_the_formula(width: int) -> None:
    vectors = sinusoids(torch.arange(3, 8), width)
    for row, position in enumerate(range(3, 8)):
        for place in range(width):
            angle = position / 10000 ** ((place - place % 2) / width)
            expected = math.cos(angle) if place % 2 else math.sin(angle)
            assert vectors[row, place].item() == pytest.approx(expected, abs=1e-5)
