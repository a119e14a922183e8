"""The decoding half of every translator with attention: keys and values of the source in, next words out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin

from treeformer.models.outputs import EncoderOutput, Layers, TranslationOutput, recorded_weights
from treeformer.models.pretrained import IGNORED, PreTrained, check_ids, compute_dtype, cross_entropy
from treeformer.nn import AttentionRecord, Decoder, sinusoids, with_positions
from treeformer.nn.attention import additive, causal_mask
from treeformer.nn.stacks import KeysValues


class Memory(NamedTuple):
    """What a decoder sees of the source."""

    keys_values: list[KeysValues]  #: of each layer's cross-attention, ``[B, H, s, K]``
    mask: Tensor | None  #: ``[B, s]``, true for positions that are there


class AttentionTranslator(PreTrained, GenerationMixin):
    """An encoder, a stack of attention decoder layers over its states, and one table for all tokens.

    A system sets ``encoder``, whose ``embedding`` holds the tokens in its first ``vocab_size`` rows, and
    ``decoder``. Its ``forward`` names its inputs, encodes them, and calls `decode`.
    """

    decoder: Decoder

    def _expand_inputs_for_generation(  # type: ignore[override]
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = True,
        input_ids: Tensor | None = None,
        **model_inputs: Any,
    ) -> tuple[Tensor | None, dict[str, Any]]:
        """What `generate` repeats for each beam: the target alone, because beams share their source."""
        for name, value in model_inputs.items():
            if name.startswith("decoder_") and isinstance(value, Tensor):
                model_inputs[name] = value.repeat_interleave(expand_size, dim=0)
        repeated = None if input_ids is None else input_ids.repeat_interleave(expand_size, dim=0)
        return repeated, model_inputs

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """``labels [B, q]`` moved one place to the right, after the start token."""
        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.config.decoder_start_token_id
        return shifted.masked_fill(shifted == IGNORED, self.config.pad_token_id)

    def decode(
        self,
        encoded: EncoderOutput,
        memory: Callable[[], Memory],
        *,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> TranslationOutput:
        """Logits, and the loss if labels are given.

        Args:
            encoded: what the encoder returned.
            memory: gives what is seen of the source; asked only if no cache has it.
            decoder_input_ids: ``[B, q]``; made from the labels if not given. Or ``[B · beams, q]``: several
                targets for each source, those of one source one after another.
            decoder_attention_mask: ``[B, past + q]``; not needed where padding stands on the right.
            past_key_values: from an earlier call, with ``use_cache``.
            labels: ``[B, q]``, −100 where there is nothing to predict.
        """
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids: expected these or labels, got neither")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        sources = len(encoded.last_hidden_state)
        if len(decoder_input_ids) % sources or (labels is not None and len(labels) != sources):
            raise ValueError(
                f"decoder_input_ids, labels: expected {sources} examples as in the source, "
                f"got {len(decoder_input_ids)}"
            )
        check_ids("decoder_input_ids, labels", decoder_input_ids, self.config.vocab_size)
        if use_cache is None:
            use_cache = self.config.use_cache and labels is None and not self.training
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        past = past_key_values.get_seq_length() if past_key_values is not None else 0
        source = Source(memory()) if past_key_values is None else _cached(past_key_values, memory)
        target = source.with_positions(self.get_input_embeddings()(decoder_input_ids), past)
        target = F.dropout(target, self.config.dropout, self.training)
        dtype = compute_dtype(target)
        bias, causal = _target_bias(decoder_input_ids, decoder_attention_mask, past, dtype)
        self_record: list[AttentionRecord] | None = [] if output_attentions else None
        cross_record: list[AttentionRecord] | None = [] if output_attentions else None
        hidden: list[Tensor] | None = [] if output_hidden_states else None
        states = self.decoder(
            target,
            source.keys_values,
            source.bias(dtype),
            bias=bias,
            causal=causal,
            remember=None if past_key_values is None else past_key_values.self_attention_cache.update,
            self_record=self_record,
            cross_record=cross_record,
            hidden=hidden,
        )
        logits = F.linear(states, self.get_input_embeddings().weight[: self.config.vocab_size])
        return TranslationOutput(
            loss=None if labels is None else cross_entropy(logits, labels),
            logits=logits,
            past_key_values=past_key_values,
            decoder_hidden_states=None if hidden is None else tuple(hidden),
            decoder_attentions=recorded_weights(self_record),
            cross_attentions=_of_each_target(recorded_weights(cross_record), len(target)),
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.get("hidden_states"),
            encoder_attentions=encoded.get("attentions"),
            encoder_leaf_weights=encoded.get("leaf_weights"),
        )


class Source:
    """What a decoder sees of the source, ready for all steps."""

    def __init__(self, memory: Memory) -> None:
        self.keys_values, self._mask = memory
        self._bias: Tensor | None = None
        self._positions: Tensor | None = None

    def bias(self, dtype: torch.dtype) -> Tensor | None:
        """``[B, 1, 1, s]`` bias that hides padding, None without a mask."""
        if self._bias is None and self._mask is not None:
            self._bias = additive(self._mask[:, None, None].bool(), dtype)
        return self._bias

    def with_positions(self, vectors: Tensor, first: int) -> Tensor:
        """`treeformer.nn.with_positions`; the vectors of later positions are kept for the next steps."""
        if first == 0:
            return with_positions(vectors)
        last = first + vectors.shape[1]
        if self._positions is None or len(self._positions) < last:
            positions = torch.arange(2 * last + 62, device=vectors.device)
            self._positions = sinusoids(positions, vectors.shape[-1]).to(vectors.dtype)
        return vectors + self._positions[first:last]


class SourceCache(DynamicCache):
    """A source in a cache: beams change places within their sentence, so that nothing changes here."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Leave all in its place."""


def _cached(cache: EncoderDecoderCache, memory: Callable[[], Memory]) -> Source:
    """The source from the cache; the first call fills it."""
    if not isinstance(cache.cross_attention_cache, SourceCache):
        cache.cross_attention_cache = SourceCache(Source(memory()))
        cache.is_updated[0] = True
    return cache.cross_attention_cache.source


def _of_each_target(weights: Layers | None, targets: int) -> Layers | None:
    """Cross-attention ``[targets, H, q, s]``, where beams stood side by side in ``[B, H, beams · q, s]``."""
    if weights is None:
        return None
    beams = targets // len(weights[0])
    return tuple(own.unflatten(2, (beams, -1)).transpose(1, 2).flatten(0, 1) for own in weights)


def _target_bias(
    ids: Tensor, mask: Tensor | None, past: int, dtype: torch.dtype
) -> tuple[Tensor | None, bool]:
    """Bias ``[B or 1, 1, q, past + q]`` of self-attention, or None; and whether it is plainly causal."""
    q = ids.shape[1]
    if mask is None and past == 0:
        return None, True
    if mask is None and q == 1:
        return None, False
    visible = causal_mask(q, past + q, ids.device)[None]
    if mask is not None:
        if mask.shape != (ids.shape[0], past + q):
            raise ValueError(
                f"decoder_attention_mask: expected a shape {[ids.shape[0], past + q]}, got {list(mask.shape)}"
            )
        # a query sees itself, so that no row is empty
        itself = torch.eye(past + q, dtype=torch.bool, device=ids.device)[past:]
        visible = visible & (mask[:, None].bool() | itself)
    return additive(visible[:, None], dtype), False
