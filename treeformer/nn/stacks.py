"""Encoder and decoder layers, and stacks of them, around any attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.attention import AttentionRecord, KeysValues, MultiHeadAttention, Remember

Norm = Literal["post", "pre"]


class Residual(nn.Module):
    """Dropout, residual connection and norm around a sublayer; the norm comes last (post) or first (pre)."""

    def __init__(self, d_model: int, *, dropout: float, norm: Norm) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.normalise_first = norm == "pre"

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.normalise_first:
            return states + self.dropout(sublayer(self.norm(states)))
        return self.norm(states + self.dropout(sublayer(states)))


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them."""

    def __init__(self, d_model: int, ffn_dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, ffn_dim)
        self.outer = nn.Linear(ffn_dim, d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        return self.outer(F.relu(self.inner(states)))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward net.

    Args:
        attention: called as ``attention(states, context, record=...)``; the context is its own: a bias for
            `Attention`, a `TreeBatch` for `TreeAttention`, a mask for convolutions.
        d_model, ffn_dim, dropout, norm: as in every layer here.
    """

    def __init__(
        self, attention: nn.Module, d_model: int, ffn_dim: int, *, dropout: float = 0.0, norm: Norm = "post"
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = FeedForward(d_model, ffn_dim)
        self.attention_residual = Residual(d_model, dropout=dropout, norm=norm)
        self.feed_forward_residual = Residual(d_model, dropout=dropout, norm=norm)

    def forward(
        self, states: Tensor, context: object, *, record: list[AttentionRecord] | None = None
    ) -> Tensor:
        """``[B, s, d]`` states after this layer."""
        states = self.attention_residual(states, lambda x: self.attention(x, context, record=record))
        return self.feed_forward_residual(states, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers; with pre-norm, one last norm."""

    def __init__(self, layers: Sequence[EncoderLayer], d_model: int, *, norm: Norm = "post") -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.last_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(
        self,
        states: Tensor,
        context: object,
        *,
        record: list[AttentionRecord] | None = None,
        hidden: list[Tensor] | None = None,
    ) -> Tensor:
        """``[B, s, d]`` states after all layers.

        ``record`` receives one entry a layer, ``hidden`` the states before each layer and the last ones.
        """
        for layer in self.layers:
            if hidden is not None:
                hidden.append(states)
            states = layer(states, context, record=record)
        states = self.last_norm(states)
        if hidden is not None:
            hidden.append(states)
        return states


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the memory, and a feed-forward net.

    Args:
        self_attention: an `Attention`, or anything else with its ``look_back``.
        cross_attention: to the memory.
        d_model, ffn_dim, dropout, norm: as in every layer here.
    """

    self_attention: Any

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: MultiHeadAttention,
        d_model: int,
        ffn_dim: int,
        *,
        dropout: float = 0.0,
        norm: Norm = "post",
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = FeedForward(d_model, ffn_dim)
        self.self_attention_residual = Residual(d_model, dropout=dropout, norm=norm)
        self.cross_attention_residual = Residual(d_model, dropout=dropout, norm=norm)
        self.feed_forward_residual = Residual(d_model, dropout=dropout, norm=norm)

    def forward(
        self,
        states: Tensor,
        memory: KeysValues,
        memory_bias: Tensor | None,
        *,
        bias: Tensor | None = None,
        causal: bool = True,
        remember: Remember | None = None,
        self_record: list[AttentionRecord] | None = None,
        cross_record: list[AttentionRecord] | None = None,
    ) -> Tensor:
        """``[B, q, d]`` states after this layer; see `Decoder.forward`."""

        def look_back(x: Tensor) -> Tensor:
            return self.self_attention.look_back(
                x, bias, causal=causal, remember=remember, record=self_record
            )

        def attend_to_memory(x: Tensor) -> Tensor:
            beside = x.reshape(len(memory[0]), -1, x.shape[-1])  # several targets of one source side by side
            queries = self.cross_attention.project_queries(beside)
            found = self.cross_attention.attend(queries, *memory, memory_bias, record=cross_record)
            return found.view_as(x)

        states = self.self_attention_residual(states, look_back)
        states = self.cross_attention_residual(states, attend_to_memory)
        return self.feed_forward_residual(states, self.feed_forward)


class Decoder(nn.Module):
    """A stack of decoder layers; with pre-norm, one last norm."""

    def __init__(self, layers: Sequence[DecoderLayer], d_model: int, *, norm: Norm = "post") -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.last_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    @property
    def cross_attentions(self) -> list[Any]:
        """The attention to the memory of each layer, of the kind that the layers were made with."""
        return [layer.cross_attention for layer in self.layers]

    def forward(
        self,
        states: Tensor,
        memory: Sequence[KeysValues],
        memory_bias: Tensor | None,
        *,
        bias: Tensor | None = None,
        causal: bool = True,
        remember: Remember | None = None,
        self_record: list[AttentionRecord] | None = None,
        cross_record: list[AttentionRecord] | None = None,
        hidden: list[Tensor] | None = None,
    ) -> Tensor:
        """``[B, q, d]`` states after all layers.

        Args:
            states: ``[B, q, d]`` embedded target; or ``[B · beams, q, d]``, those of one source in a row.
            memory: keys and values ``[B, H, s, K]`` of the source for each layer's cross-attention.
            memory_bias: ``[B, 1, 1, s]`` bias that hides padding of the source.
            bias: ``[B or 1, 1, q, k]`` bias of self-attention, if it is not plainly causal.
            causal: self-attention sees no later word; False with ``bias``.
            remember: called with a layer's new keys and values and its number as ``layer_idx``; returns past
                and new ones. The ``update`` of a cache of transformers does that.
            self_record, cross_record: lists that receive one entry a layer.
            hidden: a list that receives the states before each layer and the last ones.
        """
        for index, layer in enumerate(self.layers):
            if hidden is not None:
                hidden.append(states)
            states = layer(
                states,
                memory[index],
                memory_bias,
                bias=bias,
                causal=causal,
                remember=None if remember is None else partial(remember, layer_idx=index),
                self_record=self_record,
                cross_record=cross_record,
            )
        states = self.last_norm(states)
        if hidden is not None:
            hidden.append(states)
        return states
