"""Weights are restored from disk, except for rounding."""

from __future__ import annotations

import numpy as np
import pytest

from treeformer.parsing.weights import restored, stored

WEIGHTS = {
    "matrix": np.random.default_rng(1).standard_normal((6, 9), np.float32)
    * np.logspace(-3, 1, 6, dtype=np.float32)[:, None],
    "nothing": np.zeros((2, 3), np.float32),
    "vector": np.array([1.0, -2.5, 0.0], np.float32),
}


@pytest.mark.parametrize("bits", [8, 16])
def test_weights_are_restored(bits: int) -> None:
    back = restored(stored(WEIGHTS, bits))
    assert back.keys() == WEIGHTS.keys()
    for name, weight in WEIGHTS.items():
        largest = np.abs(weight).max(-1, keepdims=True)
        assert (np.abs(back[name] - weight) <= largest * (0.5 / 127 + 1e-3)).all()


def test_eight_bits_take_half_the_space() -> None:
    sizes = [
        sum(tensor.nbytes for tensor in stored({"m": np.ones((100, 100))}, bits).values()) for bits in (8, 16)
    ]
    assert sizes == [100 * 100 + 200, 2 * 100 * 100]
