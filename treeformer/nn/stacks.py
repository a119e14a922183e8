"""Encoder and decoder layers, and stacks of them, around any attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.attention import KeysValues, MultiHeadAttention, Record, Remember, Traces

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
        attention: called as ``attention(states, context, record=...)``. The context is a bias for
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

    def forward(self, states: Tensor, context: object, *, record: Record = None) -> Tensor:
        """``[B, s, d]`` states after this layer."""
        states = self.attention_residual(states, lambda x: self.attention(x, context, record=record))
        return self.feed_forward_residual(states, self.feed_forward)


class Stack(nn.Module):
    """Layers, and with pre-norm one last norm."""

    def __init__(self, layers: Sequence[nn.Module], d_model: int, *, norm: Norm = "post") -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.last_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()


class Encoder(Stack):
    """A stack of encoder layers."""

    def forward(self, states: Tensor, context: object, traces: Traces | None = None) -> Tensor:
        """``[B, s, d]`` states after all layers.

        Args:
            states: ``[B, s, d]``.
            context: see `EncoderLayer`.
            traces: receives the states before each layer and the last ones, and attention weights.
        """
        traces = Traces() if traces is None else traces
        for layer in self.layers:
            traces.add_hidden(states)
            states = layer(states, context, record=traces.attention)
        states = self.last_norm(states)
        traces.add_hidden(states)
        return states


class Past(NamedTuple):
    """What the self-attention of a decoder sees."""

    bias: Tensor | None = None  #: ``[B or 1, 1, q, k]``, if causal masking is not enough
    causal: bool = True  #: no later token is seen; False with a bias
    remember: Remember | None = None  #: with ``layer_idx``, as the ``update`` of a cache of transformers

    def of_layer(self, index: int) -> Past:
        """The past of one layer: its ``remember`` needs no ``layer_idx``."""
        if self.remember is None:
            return self
        return self._replace(remember=partial(self.remember, layer_idx=index))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the memory, and a feed-forward net.

    Args:
        self_attention: an `Attention`, or another module with ``look_back``.
        cross_attention: attention to the memory.
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
        self, states: Tensor, memory: KeysValues, memory_bias: Tensor | None, past: Past, traces: Traces
    ) -> Tensor:
        """``[B, q, d]`` states after this layer; see `Decoder.forward`."""

        def look_back(x: Tensor) -> Tensor:
            return self.self_attention.look_back(
                x, past.bias, causal=past.causal, remember=past.remember, record=traces.attention
            )

        def attend_to_memory(x: Tensor) -> Tensor:
            joined = x.reshape(len(memory[0]), -1, x.shape[-1])  # all targets of one source in one row
            queries = self.cross_attention.project_queries(joined)
            attended = self.cross_attention.attend(
                queries, *memory, memory_bias, record=traces.cross_attention
            )
            return attended.view_as(x)

        states = self.self_attention_residual(states, look_back)
        states = self.cross_attention_residual(states, attend_to_memory)
        return self.feed_forward_residual(states, self.feed_forward)


class Decoder(Stack):
    """A stack of decoder layers."""

    @property
    def cross_attentions(self) -> list[Any]:
        """The attention to the memory of each layer."""
        return [layer.cross_attention for layer in self.layers]

    def forward(
        self,
        states: Tensor,
        memory: Sequence[KeysValues],
        memory_bias: Tensor | None,
        past: Past | None = None,
        traces: Traces | None = None,
    ) -> Tensor:
        """``[B, q, d]`` states after all layers.

        Args:
            states: ``[B, q, d]`` embedded target; or ``[B · beams, q, d]``, those of one source in a row.
            memory: keys and values ``[B, H, s, K]`` of the source for each layer's cross-attention.
            memory_bias: ``[B, 1, 1, s]`` bias that hides padding of the source.
            past: what self-attention sees; by default the target up to each position.
            traces: receives the states before each layer and the last ones, and attention weights.
        """
        past = Past() if past is None else past
        traces = Traces() if traces is None else traces
        for index, (layer, keys_values) in enumerate(zip(self.layers, memory, strict=True)):
            traces.add_hidden(states)
            states = layer(states, keys_values, memory_bias, past.of_layer(index), traces)
        states = self.last_norm(states)
        traces.add_hidden(states)
        return states
