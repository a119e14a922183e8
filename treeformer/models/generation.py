"""The decoding half of every translator: the source's memory in, next tokens out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin
from transformers.utils.generic import can_return_tuple

from treeformer.data.vocabulary import IGNORED
from treeformer.models.outputs import EncoderOutput, Layers, TranslationOutput, weights_of
from treeformer.models.pretrained import PreTrained, check_ids, check_padding, cross_entropy
from treeformer.nn import Decoder, DecoderLayer, sinusoids, with_positions
from treeformer.nn.attention import (
    KeysValues,
    MultiHeadAttention,
    Remember,
    Traces,
    additive,
    causal_mask,
    compute_dtype,
)
from treeformer.nn.stacks import Past


@dataclass
class Memory:
    """What a decoder reads of the source. It is the same in all steps, so the cache keeps it."""

    keys_values: Sequence[KeysValues]  #: keys and values of each layer's cross-attention, ``[B, H, s, K]``
    mask: Tensor | None  #: ``[B, s]``, False for padding
    start: tuple[Tensor, ...] = ()  #: initial states ``[B, d]`` of a recurrent decoder
    leaf_weights: Layers | None = None  #: weights w of accumulation in each layer's cross-attention
    _bias: Tensor | None = field(default=None, init=False)
    _positions: Tensor | None = field(default=None, init=False)

    def bias(self, dtype: torch.dtype) -> Tensor | None:
        """``[B, 1, 1, s]`` bias that hides padding, None without a mask."""
        if self._bias is None and self.mask is not None:
            self._bias = additive(self.mask[:, None, None], dtype)
        return self._bias

    def with_positions(self, vectors: Tensor, first: int) -> Tensor:
        """`treeformer.nn.with_positions`, with the vectors of positions kept for later steps."""
        if first == 0:
            return with_positions(vectors)
        last = first + vectors.shape[1]
        if self._positions is None or len(self._positions) < last:
            positions = torch.arange(2 * last + 62, device=vectors.device)
            self._positions = sinusoids(positions, vectors.shape[-1]).to(vectors.dtype)
        return vectors + self._positions[first:last]


class Target(NamedTuple):
    """What a decoder reads of the target."""

    ids: Tensor  #: ``[B, q]``, or ``[B · beams, q]`` with the beams of one source next to each other
    mask: Tensor | None  #: ``[B, past + q]``, or None if all padding is on the right
    past: int  #: number of tokens in earlier steps
    remember: Remember | None  #: stores new keys and values of layer ``layer_idx``; returns past and new

    def unmasked(self) -> Target:
        """The target without its mask, which may hide nothing but padding on the right.

        Decoders that cannot skip tokens need no mask then, because no token sees a later one.
        """
        self.check_mask()
        if self.mask is not None:
            check_padding("decoder_attention_mask", self.mask.bool())
        return self._replace(mask=None)

    def check_mask(self) -> None:
        """Refuse a mask whose shape is not that of all tokens so far."""
        expected = [self.ids.shape[0], self.past + self.ids.shape[1]]
        if self.mask is not None and list(self.mask.shape) != expected:
            raise ValueError(
                f"decoder_attention_mask: expected a shape {expected}, got {list(self.mask.shape)}"
            )


class SequenceTranslator(PreTrained, GenerationMixin):
    """An encoder, a decoder that attends to the encoder's states, and one table for all tokens.

    A system sets ``encoder``, whose ``embedding`` holds the tokens in its first ``vocab_size`` rows. It
    implements `memory`, what the decoder reads of the source, and `target_states`, the decoder itself.
    """

    @abstractmethod
    def memory(self, encoded: Any) -> Memory:
        """What the decoder reads of the source, from what the encoder returned."""

    @abstractmethod
    def target_states(self, target: Target, memory: Memory, traces: Traces) -> Tensor:
        """``[B, q, d]`` states from which the next tokens are predicted."""

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: EncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **trees: Tensor,
    ) -> TranslationOutput:
        """Logits ``[B, q, vocab_size]`` of the target, and the loss if labels are given.

        Args:
            input_ids, attention_mask: ``[B, n]`` source tokens, and 1 for tokens or 0 for padding.
            decoder_input_ids: ``[B, q]``; the labels moved by one place if not given. Or ``[B · beams, q]``:
                several targets for each source, those of one source next to each other.
            decoder_attention_mask: ``[B, past + q]``; not needed where all padding is on the right.
            encoder_outputs: what the encoder returned; then no input of the source is read.
            past_key_values: from an earlier call, with ``use_cache``.
            labels: ``[B, q]``, −100 where there is nothing to predict.
            trees: ``node_ids``, ``node_mask`` and ``node_spans``, see `TreeEncoder.forward`.
        """
        encoded = encoder_outputs
        if encoded is None:
            encoded = self.encoder(
                input_ids,
                attention_mask,
                output_attentions=output_attentions,
                output_hidden_states=output_hidden_states,
                **trees,
            )
        ids = self._target_ids(decoder_input_ids, labels, sources=len(encoded.last_hidden_state))
        if use_cache is None:
            use_cache = self.config.use_cache and labels is None and not self.training
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        if past_key_values is None:
            memory = self.memory(encoded)
            target = Target(ids, decoder_attention_mask, past=0, remember=None)
        else:
            memory = self._cached_memory(encoded, past_key_values)
            remember = past_key_values.self_attention_cache.update
            target = Target(ids, decoder_attention_mask, past_key_values.get_seq_length(), remember)
        traces = Traces(output_attentions, output_hidden_states)
        states = self.target_states(target, memory, traces)
        logits = F.linear(states, self.get_input_embeddings().weight[: self.config.vocab_size])
        return TranslationOutput(
            loss=None if labels is None else cross_entropy(logits, labels),
            logits=logits,
            past_key_values=past_key_values,
            decoder_hidden_states=tuple(traces.hidden) if traces.hidden else None,
            decoder_attentions=weights_of(traces.attention),
            cross_attentions=_of_each_target(weights_of(traces.cross_attention), len(ids)),
            cross_leaf_weights=memory.leaf_weights if output_attentions else None,
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.hidden_states,
            encoder_attentions=encoded.attentions,
            encoder_leaf_weights=encoded.leaf_weights,
        )

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """``labels [B, q]`` moved one place to the right, after the start token."""
        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.config.decoder_start_token_id
        return shifted.masked_fill(shifted == IGNORED, self.config.pad_token_id)

    def _expand_inputs_for_generation(  # type: ignore[override]
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = True,
        input_ids: Tensor | None = None,
        **model_inputs: Any,
    ) -> tuple[Tensor | None, dict[str, Any]]:
        """Inputs with the target repeated for each beam. The source is not: beams share it."""
        for name, value in model_inputs.items():
            if name.startswith("decoder_") and isinstance(value, Tensor):
                model_inputs[name] = value.repeat_interleave(expand_size, dim=0)
        repeated = None if input_ids is None else input_ids.repeat_interleave(expand_size, dim=0)
        return repeated, model_inputs

    def _target_ids(self, given: Tensor | None, labels: Tensor | None, *, sources: int) -> Tensor:
        """``decoder_input_ids``, from the labels if they are not given."""
        if given is None:
            if labels is None:
                raise ValueError("decoder_input_ids: expected these or labels, got neither")
            given = self.prepare_decoder_input_ids_from_labels(labels)
        if len(given) % sources or (labels is not None and len(labels) != sources):
            raise ValueError(
                f"decoder_input_ids, labels: expected {sources} examples as in the source, got {len(given)}"
            )
        check_ids("decoder_input_ids, labels", given, self.config.vocab_size)
        return given

    def _cached_memory(self, encoded: EncoderOutput, cache: EncoderDecoderCache) -> Memory:
        """The memory in the cache; the first call puts it there."""
        if not isinstance(cache.cross_attention_cache, MemoryCache):
            cache.cross_attention_cache = MemoryCache(self.memory(encoded))
            cache.is_updated[0] = True
        return cache.cross_attention_cache.memory


class AttentionTranslator(SequenceTranslator):
    """A translator whose decoder is a stack of layers over embedded tokens with positions."""

    decoder: Decoder

    def add_decoder(
        self, self_attentions: Sequence[nn.Module], cross_attentions: Sequence[MultiHeadAttention]
    ) -> None:
        """Finish the construction of a model with the attentions of each decoder layer."""
        config: Any = self.config
        layers = [
            DecoderLayer(
                looks_back, cross, config.d_model, config.ffn_dim, dropout=config.dropout, norm=config.norm
            )
            for looks_back, cross in zip(self_attentions, cross_attentions, strict=True)
        ]
        self.decoder = Decoder(layers, config.d_model, norm=config.norm)
        self.post_init()

    def target_states(self, target: Target, memory: Memory, traces: Traces) -> Tensor:
        vectors = memory.with_positions(self.get_input_embeddings()(target.ids), target.past)
        vectors = F.dropout(vectors, self.config.dropout, self.training)
        dtype = compute_dtype(vectors)
        past = _visible_past(target, dtype)
        return self.decoder(vectors, memory.keys_values, memory.bias(dtype), past, traces)


class MemoryCache(DynamicCache):
    """The memory of a source in a cache. Beams share their source, so reordering them changes nothing."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Keep everything in its place."""


def _of_each_target(weights: Layers | None, targets: int) -> Layers | None:
    """Cross-attention ``[targets, H, q, s]`` from ``[B, H, beams · q, s]``, where beams share a source."""
    if weights is None:
        return None
    beams = targets // len(weights[0])
    return tuple(layer.unflatten(2, (beams, -1)).transpose(1, 2).flatten(0, 1) for layer in weights)


def _visible_past(target: Target, dtype: torch.dtype) -> Past:
    """What self-attention sees of the target: no later token, and no token that the mask hides."""
    ids, mask, past, remember = target
    q = ids.shape[1]
    if mask is None and (past == 0 or q == 1):  # one token alone sees all of the past
        return Past(causal=past == 0, remember=remember)
    visible = causal_mask(q, past + q, ids.device)[None]
    if mask is not None:
        target.check_mask()
        # a query sees itself, so that no row is empty
        itself = torch.eye(past + q, dtype=torch.bool, device=ids.device)[past:]
        visible = visible & (mask[:, None].bool() | itself)
    return Past(additive(visible[:, None], dtype), causal=False, remember=remember)
