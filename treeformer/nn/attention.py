"""Multi-head attention, and what it shares with tree attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

KeysValues = tuple[Tensor, Tensor]
Remember = Callable[..., KeysValues]  #: stores new keys and values; returns those of all steps


class AttentionRecord(NamedTuple):
    """The weights of one attention in one call."""

    weights: Tensor  #: ``[B, H, queries, keys]`` attention weights, each row sums to one
    leaf_weights: Tensor | None = None  #: ``[B, H or 1, n]`` weights w of the leaves in accumulation


Record = list[AttentionRecord] | None  #: a list that receives the weights of each attention, or None


class Traces:
    """Lists that collect what the caller asked to see, layer by layer; None for what was not asked for."""

    def __init__(self, attentions: bool | None = False, hidden_states: bool | None = False) -> None:
        self.attention: Record = [] if attentions else None
        self.cross_attention: Record = [] if attentions else None
        self.hidden: list[Tensor] | None = [] if hidden_states else None

    @property
    def wanted(self) -> bool:
        """Whether anything was asked for."""
        return self.attention is not None or self.hidden is not None

    def add_hidden(self, *states: Tensor) -> None:
        """Keep the states of a layer if they were asked for."""
        if self.hidden is not None:
            self.hidden += states


class MultiHeadAttention(nn.Module):
    """Projections and scaled dot products of several heads: what plain and tree attention share.

    Args:
        d_model: width of the states.
        heads: number of heads, a divisor of ``d_model``.
        dropout: dropout on the attention weights.
    """

    def __init__(self, d_model: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"heads: expected a divisor of d_model {d_model}, got {heads}")
        self.d_model = d_model
        self.heads = heads
        self.dropout = dropout
        self.input = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier, with gain 1/√2 for queries, keys and values: deep post-norm models need the small start."""
        bound = math.sqrt(3 / self.d_model) / math.sqrt(2)
        nn.init.uniform_(self.input.weight, -bound, bound)
        nn.init.zeros_(self.input.bias)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[B, H, s, K]`` of ``states [B, s, d]``."""
        queries, keys, values = self.input(states).chunk(3, dim=-1)
        return self._split_heads(queries), self._split_heads(keys), self._split_heads(values)

    def project_queries(self, states: Tensor) -> Tensor:
        """Queries ``[B, H, s, K]`` alone."""
        d = self.d_model
        return self._split_heads(F.linear(states, self.input.weight[:d], self.input.bias[:d]))

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values ``[B, H, s, K]`` alone."""
        d = self.d_model
        keys, values = F.linear(memory, self.input.weight[d:], self.input.bias[d:]).chunk(2, dim=-1)
        return self._split_heads(keys), self._split_heads(values)

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None = None,
        *,
        causal: bool = False,
        record: Record = None,
    ) -> Tensor:
        """Attended values ``[B, q, d]``, heads joined and projected.

        Args:
            queries, keys, values: ``[B, H, q or s, K]``.
            bias: ``[B, 1, q or 1, s]`` added to the scores (see `additive`), in the dtype of the queries.
            causal: a query sees no later key; not together with ``bias``.
            record: a list that receives the attention weights. This costs memory.
        """
        return self.output(self.mix(queries, keys, values, bias, causal=causal, record=record))

    def mix(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None = None,
        *,
        causal: bool = False,
        record: Record = None,
    ) -> Tensor:
        """Attended values ``[B, q, d]``, heads joined, not yet projected; see `attend`."""
        dropout = self.dropout if self.training else 0.0
        if record is None:
            attended = F.scaled_dot_product_attention(
                queries, keys, values, attn_mask=bias, dropout_p=dropout, is_causal=causal
            )
        else:
            weights = _attention_weights(queries, keys, bias, causal)
            record.append(AttentionRecord(weights))
            attended = F.dropout(weights, dropout).to(values.dtype) @ values
        return attended.transpose(1, 2).flatten(2)

    def _split_heads(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Attention(MultiHeadAttention):
    """Plain multi-head self-attention."""

    def forward(
        self,
        states: Tensor,
        bias: Tensor | None = None,
        *,
        causal: bool = False,
        remember: Remember | None = None,
        record: Record = None,
    ) -> Tensor:
        """Self-attention ``[B, s, d]`` over ``states [B, s, d]``.

        Args:
            bias, causal, record: see `attend`.
            remember: adds keys and values of earlier steps.
        """
        queries, keys, values = self.project(states)
        if remember is not None:
            keys, values = remember(keys, values)
        return self.attend(queries, keys, values, bias, causal=causal, record=record)

    look_back = forward  #: what a `DecoderLayer` calls


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A bias of the shape of ``mask``: 0 where it is True, −∞ elsewhere.

    Rows start at multiples of 16 bytes: fused kernels copy a mask whose rows do not.
    """
    if torch.compiler.is_compiling():  # the compiler aligns rows itself
        return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)
    width = mask.shape[-1]
    aligned = torch.zeros(*mask.shape[:-1], -(-width // 8) * 8, dtype=dtype, device=mask.device)
    bias = aligned[..., :width].copy_(mask)
    return bias.reciprocal_().neg_().add_(1)  # 1 - 1 / 1 and 1 - 1 / 0; on a CPU faster than to fill


def compute_dtype(states: Tensor) -> torch.dtype:
    """The dtype in which linear maps of these states are computed: autocast may choose another."""
    device = states.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """``[queries, keys]``, True where a key is no later than the query; the last query is at the last key."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def _attention_weights(queries: Tensor, keys: Tensor, bias: Tensor | None, causal: bool) -> Tensor:
    """``[B, H, q, s]`` softmax of the scores, in float32 at least."""
    dtype = torch.promote_types(queries.dtype, torch.float32)
    scores = (queries @ keys.mT).to(dtype) / math.sqrt(queries.shape[-1])
    if bias is not None:
        scores = scores + bias
    if causal:
        mask = causal_mask(scores.shape[-2], scores.shape[-1], scores.device)
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1)
