"""Gated convolutions equal torch's, normalised maps too; attention follows the paper's formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from treeformer.nn import AttentionRecord
from treeformer.nn.attention import additive
from treeformer.nn.gated_convolution import (
    GatedConvolution,
    NormalisedLinear,
    StepAttention,
    scale_gradient,
)


def randomised(module: Any) -> Any:
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.double()


def kernel(module: GatedConvolution) -> Tensor:
    """``[2c, c, k]``, as torch's convolution wants it."""
    linear = module.linear
    weight = linear.direction / linear.direction.norm(dim=1, keepdim=True) * linear.gain
    return weight.unflatten(1, (module.width, -1)).transpose(1, 2)


def test_a_normalised_map_equals_torchs_and_learns_as_it() -> None:
    ours = randomised(NormalisedLinear(5, 7))
    theirs = weight_norm(nn.Linear(5, 7).double())
    norm = theirs.parametrizations.weight
    norm.original0.data, norm.original1.data = ours.gain.data.clone(), ours.direction.data.clone()
    theirs.bias.data = ours.bias.data.clone()
    states, direction = torch.randn(3, 5).double(), torch.randn(3, 7).double()
    actual, expected = ours(states), theirs(states)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
    (actual * direction).sum().backward()
    (expected * direction).sum().backward()
    pairs = [(ours.gain, norm.original0), (ours.direction, norm.original1), (ours.bias, theirs.bias)]
    for our, their in pairs:
        torch.testing.assert_close(our.grad, their.grad, rtol=0, atol=1e-10)


def test_weights_start_as_specified() -> None:
    torch.manual_seed(0)
    linear = NormalisedLinear(400, 300, variance=0.8)
    assert linear.direction.var().item() == pytest.approx(0.8 / 400, rel=0.02)
    torch.testing.assert_close(linear.gain, linear.direction.norm(dim=1, keepdim=True))
    assert not linear.bias.any()
    gated = GatedConvolution(100, 3, dropout=0.1)
    assert gated.linear.direction.var().item() == pytest.approx(4 * 0.9 / 300, rel=0.02)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_centred_convolution_equals_torchs(width: int) -> None:
    module = randomised(GatedConvolution(6, width))
    states = torch.randn(2, 4, 6).double()
    mask = torch.arange(4) < torch.tensor([[4], [2]])
    clean = (states * mask[..., None]).mT
    expected = F.glu(F.conv1d(clean, kernel(module), module.linear.bias, padding=width // 2).mT)
    torch.testing.assert_close(module(states, mask), expected, rtol=0, atol=1e-12)
    states[~mask] = torch.nan
    torch.testing.assert_close(module(states, mask), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 6])
@pytest.mark.parametrize("steps", [[5], [1] * 5, [2, 3]])
def test_a_causal_convolution_equals_torchs_in_one_pass_and_step_by_step(
    width: int, steps: list[int]
) -> None:
    module = randomised(GatedConvolution(6, width))
    states = torch.randn(2, 5, 6).double()
    expected = F.glu(F.conv1d(F.pad(states.mT, (width - 1, 0)), kernel(module), module.linear.bias).mT)
    kept: list[Tensor] = []

    def remember(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        kept.append(keys)
        return torch.cat(kept, dim=2), values

    parts = [module.look_back(part, remember) for part in states.split(steps, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, rtol=0, atol=1e-12)


def test_attention_is_that_of_the_formulas() -> None:
    module = randomised(StepAttention(6, 8))
    states, vectors = torch.randn(2, 3, 6).double(), torch.randn(2, 3, 8).double()
    keys, values = torch.randn(2, 1, 4, 8).double(), torch.randn(2, 1, 4, 8).double()
    lengths = [4, 2]
    mask = torch.arange(4) < torch.tensor(lengths)[:, None]
    record: list[AttentionRecord] = []
    actual = module(
        states, vectors, (keys, values), additive(mask[:, None, None], torch.float64), record=record
    )
    for b, n in enumerate(lengths):
        for i in range(3):
            query = (module.query(states[b, i]) + vectors[b, i]) * math.sqrt(0.5)
            weights = (keys[b, 0, :n] @ query).softmax(0)
            torch.testing.assert_close(record[0].weights[b, 0, i, :n], weights, rtol=0, atol=1e-12)
            expected = (module.output(weights @ values[b, 0, :n]) + states[b, i]) * math.sqrt(0.5)
            torch.testing.assert_close(actual[b, i], expected, rtol=0, atol=1e-12)
    assert not record[0].weights[1, 0, :, 2:].any()


def test_a_scaled_gradient_belongs_to_the_same_value() -> None:
    states = torch.randn(3, 4, requires_grad=True)
    scaled = scale_gradient(states, 0.125)
    assert torch.equal(scaled, states)
    scaled.sum().backward()
    assert torch.equal(states.grad, torch.full((3, 4), 0.125))
