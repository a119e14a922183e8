"""The decoding half of every translator with attention: keys and values of the source in, next words out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin

from treeformer.models.outputs import EncoderOutput, TranslationOutput, recorded_weights
from treeformer.models.pretrained import IGNORED, PreTrained, check_ids, compute_dtype, cross_entropy
from treeformer.nn import AttentionRecord, Decoder, with_positions
from treeformer.nn.attention import additive, causal_mask
from treeformer.nn.stacks import KeysValues


class AttentionTranslator(PreTrained, GenerationMixin):
    """An encoder, a stack of attention decoder layers over its states, and one table for all tokens.

    A system sets ``encoder``, whose ``embedding`` holds the tokens in its first ``vocab_size`` rows, and
    ``decoder``. Its ``forward`` names its inputs, encodes them, and calls `decode`.
    """

    decoder: Decoder

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """``labels [B, q]`` moved one place to the right, after the start token."""
        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.config.decoder_start_token_id
        return shifted.masked_fill(shifted == IGNORED, self.config.pad_token_id)

    def decode(
        self,
        encoded: EncoderOutput,
        keys_values: Callable[[], list[KeysValues]],
        memory_mask: Tensor | None,
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
            keys_values: gives keys and values of the source for each layer; asked only if no cache has them.
            memory_mask: ``[B, s]``, true for source positions that are there.
            decoder_input_ids: ``[B, q]``; made from the labels if not given.
            decoder_attention_mask: ``[B, past + q]``; not needed where padding stands on the right.
            past_key_values: from an earlier call, with ``use_cache``.
            labels: ``[B, q]``, −100 where there is nothing to predict.
        """
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids: expected these or labels, got neither")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if len(decoder_input_ids) != len(encoded.last_hidden_state):
            raise ValueError(
                f"decoder_input_ids, labels: expected {len(encoded.last_hidden_state)} examples as in the "
                f"source, got {len(decoder_input_ids)}"
            )
        check_ids("decoder_input_ids, labels", decoder_input_ids, self.config.vocab_size)
        if use_cache is None:
            use_cache = self.config.use_cache and labels is None and not self.training
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        past = past_key_values.get_seq_length() if past_key_values is not None else 0
        memory = keys_values() if past_key_values is None else _cached(past_key_values, keys_values)
        target = with_positions(self.get_input_embeddings()(decoder_input_ids), past)
        target = F.dropout(target, self.config.dropout, self.training)
        dtype = compute_dtype(target)
        bias, causal = _target_bias(decoder_input_ids, decoder_attention_mask, past, dtype)
        self_record: list[AttentionRecord] | None = [] if output_attentions else None
        cross_record: list[AttentionRecord] | None = [] if output_attentions else None
        hidden: list[Tensor] | None = [] if output_hidden_states else None
        states = self.decoder(
            target,
            memory,
            None if memory_mask is None else additive(memory_mask[:, None, None].bool(), dtype),
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
            cross_attentions=recorded_weights(cross_record),
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.get("hidden_states"),
            encoder_attentions=encoded.get("attentions"),
            encoder_leaf_weights=encoded.get("leaf_weights"),
        )


def _cached(cache: EncoderDecoderCache, keys_values: Callable[[], list[KeysValues]]) -> list[KeysValues]:
    """Keys and values of the source, from the cache; the first call fills it."""
    if not cache.is_updated.get(0):
        for index, (keys, values) in enumerate(keys_values()):
            cache.cross_attention_cache.update(keys, values, index)
            cache.is_updated[index] = True
    layers: list[Any] = cache.cross_attention_cache.layers
    return [(layer.keys, layer.values) for layer in layers]


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
