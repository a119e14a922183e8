"""Our modules with the weights of torch's."""

from __future__ import annotations

from torch import nn

from treeformer.nn import Attention, Encoder


def copy_attention(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    assert theirs.in_proj_weight is not None
    ours.input.weight.data, ours.input.bias.data = theirs.in_proj_weight.data, theirs.in_proj_bias.data
    ours.output.load_state_dict(theirs.out_proj.state_dict())


def copy_encoder(ours: Encoder, theirs: nn.TransformerEncoder) -> None:
    for our, their in zip(ours.layers, theirs.layers, strict=True):
        copy_attention(our.attention, their.self_attn)
        our.feed_forward.inner.load_state_dict(their.linear1.state_dict())
        our.feed_forward.outer.load_state_dict(their.linear2.state_dict())
        our.attention_residual.norm.load_state_dict(their.norm1.state_dict())
        our.feed_forward_residual.norm.load_state_dict(their.norm2.state_dict())
    if theirs.norm is not None:
        ours.last_norm.load_state_dict(theirs.norm.state_dict())
