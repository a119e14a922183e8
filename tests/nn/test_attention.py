"""Plain attention equals that of torch, with and without masks, recording and dropout."""

from __future__ import annotations

import pytest
import torch

from treeformer.nn import Attention, AttentionRecord
from treeformer.nn.attention import additive, causal_mask


def twins() -> tuple[Attention, torch.nn.MultiheadAttention]:
    """Our attention and torch's with the same weights, in float64."""
    torch.manual_seed(0)
    ours = Attention(24, 4).double()
    theirs = torch.nn.MultiheadAttention(24, 4, batch_first=True).double()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.input.weight,
            "in_proj_bias": ours.input.bias,
            "out_proj.weight": ours.output.weight,
            "out_proj.bias": ours.output.bias,
        }
    )
    return ours, theirs


def test_it_equals_torch_with_padding_and_with_a_causal_mask() -> None:
    ours, theirs = twins()
    states = torch.randn(3, 5, 24, dtype=torch.float64)
    mask = torch.arange(5) < torch.tensor([[5], [3], [1]])
    expected, _ = theirs(states, states, states, key_padding_mask=~mask)
    actual = ours(states, additive(mask[:, None, None], torch.float64))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
    expected, _ = theirs(states, states, states, attn_mask=~causal_mask(5, 5, states.device))
    torch.testing.assert_close(ours(states, causal=True), expected, rtol=0, atol=1e-12)


def test_it_equals_torch_across_two_sequences() -> None:
    ours, theirs = twins()
    queries, memory = torch.randn(3, 4, 24, dtype=torch.float64), torch.randn(3, 7, 24, dtype=torch.float64)
    expected, _ = theirs(queries, memory, memory)
    actual = ours.attend(ours.project_queries(queries), *ours.project_memory(memory))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_recording_changes_nothing_and_the_weights_are_torchs(causal: bool) -> None:
    ours, theirs = twins()
    states = torch.randn(2, 6, 24, dtype=torch.float64)
    record: list[AttentionRecord] = []
    actual = ours(states, causal=causal, record=record)
    torch.testing.assert_close(actual, ours(states, causal=causal), rtol=0, atol=1e-12)
    mask = ~causal_mask(6, 6, states.device) if causal else None
    _, weights = theirs(states, states, states, attn_mask=mask, average_attn_weights=False)
    torch.testing.assert_close(record[0].weights, weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("recorded", [True, False])
def test_dropout_is_on_in_training_alone(recorded: bool) -> None:
    torch.manual_seed(0)
    attention = Attention(24, 4, dropout=0.5)
    states = torch.randn(2, 6, 24)

    def run() -> torch.Tensor:
        return attention(states, record=[] if recorded else None)

    assert not torch.allclose(run(), run())
    attention.eval()
    assert torch.equal(run(), run())


@pytest.mark.parametrize("width", [1, 7, 8, 13])
def test_a_bias_hides_what_the_mask_hides_and_its_rows_are_aligned(width: int) -> None:
    mask = torch.rand(2, 1, 3, width) < 0.5
    bias = additive(mask, torch.bfloat16)
    assert torch.equal(bias == 0, mask)
    assert torch.equal(bias == -torch.inf, ~mask)
    assert bias.stride(-2) * bias.element_size() % 16 == 0


def test_the_last_query_sees_all_keys() -> None:
    assert causal_mask(2, 4, torch.device("cpu")).tolist() == [[True, True, True, False], [True] * 4]


def test_queries_keys_and_values_start_small() -> None:
    """Xavier of a square matrix has variance 1 / d; a gain of 1/√2 halves it."""
    attention = Attention(256, 4)
    assert attention.input.weight.var().item() == pytest.approx(1 / 512, rel=0.05)
    assert attention.output.weight.var().item() == pytest.approx(1 / 256, rel=0.05)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="heads: expected a divisor of d_model 24, got 5"):
        Attention(24, 5)
