"""Our Transformer stacks equal torch's when the weights are copied."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tests.nn.twins import copy_attention, copy_encoder
from treeformer.nn import Attention, Decoder, DecoderLayer, Encoder, EncoderLayer
from treeformer.nn.attention import additive

WIDTH, HEADS, INNER = 24, 4, 40


def paired(ours: nn.Module, theirs: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """Gradients of our parameters and of torch's with the same meaning, sorted by shape and value."""

    def gradients(module: nn.Module) -> list[Tensor]:
        gradients = [p.grad for p in module.parameters() if p.grad is not None]
        return sorted(gradients, key=lambda g: (*g.shape, round(g.norm().item(), 6)))

    return list(zip(gradients(ours), gradients(theirs), strict=True))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_encoder_equals_torchs(norm: str) -> None:
    torch.manual_seed(0)
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(
            WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
        ),
        num_layers=3,
        norm=nn.LayerNorm(WIDTH, dtype=torch.float64) if norm == "pre" else None,
        enable_nested_tensor=False,
    )
    ours = Encoder(
        [EncoderLayer(Attention(WIDTH, HEADS), WIDTH, INNER, norm=norm) for _ in range(3)], WIDTH, norm=norm
    ).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    copy_encoder(ours, theirs)
    states = torch.randn(3, 6, WIDTH, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([[6], [4], [1]])
    inputs = [states.clone().requires_grad_() for _ in range(2)]
    actual = ours(inputs[0], additive(mask[:, None, None], torch.float64))[mask]
    expected = theirs(inputs[1], src_key_padding_mask=~mask)[mask]
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    direction = torch.randn(actual.shape, dtype=torch.float64)
    (actual * direction).sum().backward()
    (expected * direction).sum().backward()
    for our, their in [(inputs[0].grad, inputs[1].grad), *paired(ours, theirs)]:
        torch.testing.assert_close(our, their, rtol=0, atol=1e-9)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_decoder_equals_torchs(norm: str) -> None:
    torch.manual_seed(0)
    theirs = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(
            WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
        ),
        num_layers=3,
        norm=nn.LayerNorm(WIDTH, dtype=torch.float64) if norm == "pre" else None,
    )
    ours = Decoder(
        [
            DecoderLayer(Attention(WIDTH, HEADS), Attention(WIDTH, HEADS), WIDTH, INNER, norm=norm)
            for _ in range(3)
        ],
        WIDTH,
        norm=norm,
    ).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    for our, their in zip(ours.layers, theirs.layers, strict=True):
        copy_attention(our.self_attention, their.self_attn)
        copy_attention(our.cross_attention, their.multihead_attn)
        our.feed_forward.inner.load_state_dict(their.linear1.state_dict())
        our.feed_forward.outer.load_state_dict(their.linear2.state_dict())
        our.self_attention_residual.norm.load_state_dict(their.norm1.state_dict())
        our.cross_attention_residual.norm.load_state_dict(their.norm2.state_dict())
        our.feed_forward_residual.norm.load_state_dict(their.norm3.state_dict())
    if norm == "pre":
        ours.last_norm.load_state_dict(theirs.norm.state_dict())
    target, memory = torch.randn(2, 5, WIDTH).double(), torch.randn(2, 7, WIDTH).double()
    mask = torch.arange(7) < torch.tensor([[7], [3]])
    inputs = [(target.clone().requires_grad_(), memory.clone().requires_grad_()) for _ in range(2)]
    pairs = [layer.cross_attention.project_memory(inputs[0][1]) for layer in ours.layers]
    actual = ours(inputs[0][0], pairs, additive(mask[:, None, None], torch.float64))
    causal = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    expected = theirs(*inputs[1], tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~mask)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    direction = torch.randn(actual.shape, dtype=torch.float64)
    (actual * direction).sum().backward()
    (expected * direction).sum().backward()
    gradients = [(our.grad, their.grad) for our, their in zip(*inputs, strict=True)]
    for our, their in [*gradients, *paired(ours, theirs)]:
        torch.testing.assert_close(our, their, rtol=0, atol=1e-9)


def test_the_norm_first_variant_ends_with_one_norm() -> None:
    layers = [EncoderLayer(Attention(WIDTH, HEADS), WIDTH, INNER, norm="pre")]
    states = torch.randn(2, 5, WIDTH) * 9
    result = Encoder(layers, WIDTH, norm="pre")(states, None)
    torch.testing.assert_close(result.mean(-1), torch.zeros(2, 5), rtol=0, atol=1e-5)
    torch.testing.assert_close(result.var(-1, unbiased=False), torch.ones(2, 5), rtol=0, atol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_residual_branches_have_dropout_in_training_alone(norm: str) -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(Attention(WIDTH, HEADS), WIDTH, INNER, dropout=0.5, norm=norm)
    states = torch.randn(2, 5, WIDTH)
    assert not torch.allclose(layer(states, None), layer(states, None))
    layer.eval()
    assert torch.equal(layer(states, None), layer(states, None))
