"""The decoding half of every translator: what is seen of the source in, next words out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin
from transformers.utils.generic import can_return_tuple

from treeformer.data.vocabulary import IGNORED
from treeformer.models.outputs import EncoderOutput, Layers, TranslationOutput, recorded_weights
from treeformer.models.pretrained import PreTrained, check_ids, compute_dtype, cross_entropy
from treeformer.nn import AttentionRecord, Decoder, sinusoids, with_positions
from treeformer.nn.attention import KeysValues, Remember, additive, causal_mask


class Memory(NamedTuple):
    """What a decoder sees of the source."""

    keys_values: list[KeysValues]  #: of each layer's cross-attention, ``[B, H, s, K]``
    mask: Tensor | None  #: ``[B, s]``, true for positions that are there
    start: tuple[Tensor, ...] = ()  #: states ``[B, d]`` in which a recurrent decoder begins


class Target(NamedTuple):
    """What a decoder reads of the target."""

    ids: Tensor  #: ``[B, q]``, or ``[B · beams, q]``: those of one source one after another
    mask: Tensor | None  #: ``[B, past + q]``, or None where padding stands on the right
    past: int  #: how many tokens came before, in earlier steps
    remember: Remember | None  #: past and new keys and values, of the layer ``layer_idx``

    def unmasked(self) -> Target:
        """The same for a decoder that cannot skip tokens, and need not if padding stands on the right."""
        self.check_mask()
        if self.mask is not None:
            there = self.mask.bool()
            if (there[:, 1:] & ~there[:, :-1]).any():
                raise ValueError(
                    "decoder_attention_mask: expected tokens first, then padding, got tokens after padding"
                )
        return self._replace(mask=None)

    def check_mask(self) -> None:
        """Refuse a mask of another shape than that of the tokens so far."""
        expected = [self.ids.shape[0], self.past + self.ids.shape[1]]
        if self.mask is not None and list(self.mask.shape) != expected:
            raise ValueError(
                f"decoder_attention_mask: expected a shape {expected}, got {list(self.mask.shape)}"
            )


class Traces:
    """Lists that receive what is asked for, None for the rest."""

    def __init__(self, attentions: bool | None, hidden_states: bool | None) -> None:
        self.own: list[AttentionRecord] | None = [] if attentions else None
        self.cross: list[AttentionRecord] | None = [] if attentions else None
        self.hidden: list[Tensor] | None = [] if hidden_states else None


class SequenceTranslator(PreTrained, GenerationMixin):
    """An encoder, a decoder that looks at its states, and one table for all tokens.

    A system sets ``encoder``, whose ``embedding`` holds the tokens in its first ``vocab_size`` rows, and says
    what its decoder sees of the source (`memory`) and how it gets to its states (`target_states`). Systems
    that read trees have another ``forward``, see `treeformer.models.tree_reading.TreeTranslator`.
    """

    @abstractmethod
    def memory(self, encoded: Any, context: Any) -> Memory:
        """What is seen of the source, by the encoder's output and ``attention_mask`` (trees: the batch)."""

    @abstractmethod
    def target_states(self, target: Target, source: Source, traces: Traces) -> Tensor:
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
    ) -> TranslationOutput:
        """Logits ``[B, q, vocab_size]`` of the target given ``input_ids [B, n]``; `decode` tells the rest."""
        encoded = encoder_outputs
        if encoded is None:
            encoded = self.encoder(input_ids, attention_mask, output_attentions, output_hidden_states)
        return self.decode(
            encoded,
            lambda: self.memory(encoded, attention_mask),
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            past_key_values=past_key_values,
            labels=labels,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )

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
        ids = self._target_ids(decoder_input_ids, labels, sources=len(encoded.last_hidden_state))
        if use_cache is None:
            use_cache = self.config.use_cache and labels is None and not self.training
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        if past_key_values is None:
            source, target = Source(memory()), Target(ids, decoder_attention_mask, 0, None)
        else:
            source, own = _cached(past_key_values, memory), past_key_values.self_attention_cache
            target = Target(ids, decoder_attention_mask, past_key_values.get_seq_length(), own.update)
        traces = Traces(output_attentions, output_hidden_states)
        states = self.target_states(target, source, traces)
        logits = F.linear(states, self.get_input_embeddings().weight[: self.config.vocab_size])
        return TranslationOutput(
            loss=None if labels is None else cross_entropy(logits, labels),
            logits=logits,
            past_key_values=past_key_values,
            decoder_hidden_states=None if traces.hidden is None else tuple(traces.hidden),
            decoder_attentions=recorded_weights(traces.own),
            cross_attentions=_of_each_target(recorded_weights(traces.cross), len(ids)),
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.get("hidden_states"),
            encoder_attentions=encoded.get("attentions"),
            encoder_leaf_weights=encoded.get("leaf_weights"),
        )

    def _target_ids(self, given: Tensor | None, labels: Tensor | None, *, sources: int) -> Tensor:
        """``decoder_input_ids``, made from the labels if they are not given."""
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


class AttentionTranslator(SequenceTranslator):
    """A translator whose decoder is a stack of layers over embedded tokens with positions."""

    decoder: Decoder

    def target_states(self, target: Target, source: Source, traces: Traces) -> Tensor:
        vectors = source.with_positions(self.get_input_embeddings()(target.ids), target.past)
        vectors = F.dropout(vectors, self.config.dropout, self.training)
        dtype = compute_dtype(vectors)
        bias, causal = _target_bias(target, dtype)
        return self.decoder(
            vectors,
            source.keys_values,
            source.bias(dtype),
            bias=bias,
            causal=causal,
            remember=target.remember,
            self_record=traces.own,
            cross_record=traces.cross,
            hidden=traces.hidden,
        )


class Source:
    """What a decoder sees of the source, ready for all steps."""

    def __init__(self, memory: Memory) -> None:
        self.keys_values, self._mask, self.start = memory
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


def _target_bias(target: Target, dtype: torch.dtype) -> tuple[Tensor | None, bool]:
    """Bias ``[B or 1, 1, q, past + q]`` of self-attention, or None; and whether it is plainly causal."""
    ids, mask, past, _ = target
    q = ids.shape[1]
    if mask is None and past == 0:
        return None, True
    if mask is None and q == 1:
        return None, False
    visible = causal_mask(q, past + q, ids.device)[None]
    if mask is not None:
        target.check_mask()
        # a query sees itself, so that no row is empty
        itself = torch.eye(past + q, dtype=torch.bool, device=ids.device)[past:]
        visible = visible & (mask[:, None].bool() | itself)
    return additive(visible[:, None], dtype), False
