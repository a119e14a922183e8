"""Weights are restored from disk, except for rounding."""

from __future__ import annotations

import pytest
import torch

from treeformer.parsing.weights import restored, stored

WEIGHTS = {
    "matrix": torch.randn(6, 9, generator=torch.Generator().manual_seed(1))
    * torch.logspace(-3, 1, 6)[:, None],
    "nothing": torch.zeros(2, 3),
    "vector": torch.tensor([1.0, -2.5, 0.0]),
}


@pytest.mark.parametrize("bits", [8, 16])
def test_weights_are_restored(bits: int) -> None:
    back = restored(stored(WEIGHTS, bits))
    assert back.keys() == WEIGHTS.keys()
    for name, weight in WEIGHTS.items():
        largest = weight.abs().amax(-1, keepdim=True)
        assert ((back[name] - weight).abs() <= largest * (0.5 / 127 + 1e-3)).all()


def test_eight_bits_take_half_the_space() -> None:
    sizes = [
        sum(tensor.nbytes for tensor in stored({"m": torch.ones(100, 100)}, bits).values())
        for bits in (8, 16)
    ]
    assert sizes == [100 * 100 + 200, 2 * 100 * 100]
