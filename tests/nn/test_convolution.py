"""Convolutions equal a loop over positions, read what they may read, and remember it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from treeformer.nn import DynamicConvolution, LightweightConvolution
from treeformer.nn.attention import additive, causal_mask
from treeformer.nn.convolution import Convolution, convolve

KINDS = [DynamicConvolution, LightweightConvolution]


def randomised(kind: type[Convolution], width: int, *, d_model: int = 12, heads: int = 3) -> Convolution:
    torch.manual_seed(0)
    module = kind(d_model, heads, width).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def in_a_loop(module: Any, states: Tensor, lengths: list[int], before: int) -> Tensor:
    """The formulas, one position and channel after another; a kernel begins ``before`` positions ahead."""
    B, s, d = states.shape
    inputs = F.glu(states @ module.input.weight.T + module.input.bias)
    rows = []
    for b in range(B):
        for i in range(s):
            channels = []
            for c in range(d):
                head = c // (d // module.heads)
                if isinstance(module, DynamicConvolution):
                    predictor = module.predict.weight[head * module.width : (head + 1) * module.width]
                    kernel = (predictor @ inputs[b, i]).softmax(0)
                else:
                    kernel = module.weight[head].softmax(0)
                places = [i + j - before for j in range(module.width)]
                read = [kernel[j] * inputs[b, p, c] for j, p in enumerate(places) if 0 <= p < lengths[b]]
                channels.append(sum(read, torch.zeros((), dtype=states.dtype)))
            rows.append(torch.stack(channels))
    return torch.stack(rows).view(B, s, d) @ module.output.weight.T + module.output.bias


def agree(module: Convolution, inputs: list[Tensor], actual: Tensor, expected: Tensor) -> None:
    """Values and gradients of inputs and parameters are equal."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)
    direction = torch.randn_like(actual)
    parameters = list(module.parameters())
    ours = torch.autograd.grad((actual * direction).sum(), [inputs[0], *parameters])
    theirs = torch.autograd.grad((expected * direction).sum(), [inputs[1], *parameters])
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 3, 7])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_centred_convolution_equals_a_loop_over_positions(
    kind: type[Convolution], width: int, size: int
) -> None:
    module = randomised(kind, width)
    lengths = [size, max(1, size - 2)]
    mask = torch.arange(size) < torch.tensor(lengths)[:, None]
    inputs = [torch.randn(2, size, 12).double().requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    expected = in_a_loop(module, inputs[1], lengths, width // 2)
    agree(module, inputs, module(inputs[0], mask)[mask], expected[mask])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 5])
def test_a_causal_convolution_equals_a_loop_over_positions(
    kind: type[Convolution], width: int, size: int
) -> None:
    module = randomised(kind, width)
    inputs = [torch.randn(2, size, 12).double().requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    expected = in_a_loop(module, inputs[1], [size, size], width - 1)
    agree(module, inputs, module.look_back(inputs[0]), expected)


@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(-8, 8), st.sampled_from([1, 2, 4])
)
def test_rows_outside_are_zero_wherever_the_kernels_stand(
    q: int, k: int, t: int, offset: int, H: int
) -> None:
    kernels, rows = torch.randn(2, H, q, k).double(), torch.randn(2, t, 4).double()
    expected = torch.zeros(2, q, 4).double()
    for i in range(q):
        for j in range(k):
            if 0 <= i + j + offset < t:
                expected[:, i] += kernels[:, :, i, j].repeat_interleave(4 // H, 1) * rows[:, i + j + offset]
    torch.testing.assert_close(convolve(kernels, rows, offset), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_sum_to_one(kind: type[Convolution]) -> None:
    kernels = randomised(kind, 5).kernels(torch.randn(2, 4, 12).double())
    assert kernels.shape == (2, 3, 4, 5)
    torch.testing.assert_close(kernels.sum(-1), torch.ones(2, 3, 4).double())
    assert (kernels > 0).all()


def test_dynamic_kernels_differ_from_place_to_place_and_lightweight_ones_do_not() -> None:
    inputs = torch.randn(1, 2, 12).double()
    first, second = randomised(DynamicConvolution, 3).kernels(inputs).unbind(2)
    assert not torch.allclose(first, second)
    first, second = randomised(LightweightConvolution, 3).kernels(inputs).unbind(2)
    assert torch.equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_in_the_padding_does_not_matter(kind: type[Convolution]) -> None:
    module = randomised(kind, 5)
    states, mask = torch.randn(2, 6, 12).double(), torch.arange(6) < torch.tensor([[6], [3]])
    alone = module(states[1:, :3])
    states[~mask] = torch.nan
    torch.testing.assert_close(module(states, mask)[1:, :3], alone, rtol=0, atol=1e-12)
    assert module(states, mask)[0].isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 3], [2, 5]])
def test_steps_that_are_remembered_equal_one_pass(
    kind: type[Convolution], width: int, steps: list[int]
) -> None:
    module = randomised(kind, width)
    states = torch.randn(2, 7, 12).double()
    kept: list[Tensor] = []

    def remember(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        assert keys.shape[:2] == (2, 1)
        assert values.shape == (*keys.shape[:3], 0)
        kept.append(keys)
        return torch.cat(kept, dim=2), values

    parts = [module.look_back(part, remember=remember) for part in states.split(steps, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), module.look_back(states), rtol=0, atol=1e-12)


def test_a_bias_may_hide_later_positions_and_no_earlier_ones() -> None:
    module, states = randomised(DynamicConvolution, 3), torch.randn(2, 4, 12).double()
    mask = causal_mask(4, 4, states.device)[None, None]
    assert torch.equal(module.look_back(states, additive(mask, torch.float64)), module.look_back(states))
    mask = mask.clone()
    mask[..., 2:, 0] = False
    with pytest.raises(ValueError, match="bias: a convolution reads all earlier positions"):
        module.look_back(states, additive(mask, torch.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_drops_weights_of_each_position_in_training_alone(kind: type[Convolution]) -> None:
    torch.manual_seed(0)
    module = kind(12, 3, 5, dropout=0.5)
    states = torch.randn(1, 1, 12).expand(1, 40, 12)
    actual = module.look_back(states)[0, 10:]
    assert not torch.allclose(actual[0], actual[1])
    module.eval()
    assert torch.equal(module.look_back(states), module.look_back(states))


@pytest.mark.parametrize("kind", KINDS)
def test_it_computes_in_bfloat16_with_an_exact_softmax(kind: type[Convolution]) -> None:
    module = randomised(kind, 5).float()
    states = torch.randn(2, 6, 12)
    exact = module(states)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = module(states)
        kernels = module.kernels(F.glu(module.input(states)))
    assert coarse.dtype == torch.bfloat16
    assert kernels.dtype == torch.float32
    torch.testing.assert_close(coarse.float(), exact, rtol=0.1, atol=0.1)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="heads: expected a divisor of d_model 12, got 5"):
        DynamicConvolution(12, 5, 3)
    with pytest.raises(ValueError, match="width: expected at least 1, got 0"):
        LightweightConvolution(12, 3, 0)
    with pytest.raises(ValueError, match="width: expected an odd number for a centred kernel, got 4"):
        LightweightConvolution(12, 3, 4)(torch.randn(1, 2, 12))
