"""What encoders, classifiers and translators return. Attentions and hidden states only if asked for."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from transformers import EncoderDecoderCache
from transformers.utils.generic import ModelOutput

from treeformer.nn import AttentionRecord, Traces
from treeformer.ops import TreeBatch

Layers = tuple[Tensor, ...]


@dataclass
class EncoderOutput(ModelOutput):
    """What an encoder returns.

    last_hidden_state: ``[B, s, d]``; for tree systems the s states are [leaves ; nodes].
    hidden_states: before the first layer and after each, ``[B, s, d]``.
    attentions: one ``[B, H, s, s]`` per layer.
    leaf_weights: one ``[B, H or 1, n]`` per layer, the weights w of accumulation, with attentions.
    mask: ``[B, s]``, True for states of tokens and nodes, False for padding; None if nothing is padded.
    batch: the trees, for systems that read them.
    """

    last_hidden_state: Tensor = None  # type: ignore[assignment]  # outputs have no fields without default
    hidden_states: Layers | None = None
    attentions: Layers | None = None
    leaf_weights: Layers | None = None
    mask: Tensor | None = None
    batch: TreeBatch | None = None


@dataclass
class ClassificationOutput(ModelOutput):
    """What a classifier returns.

    loss: mean over all given targets, if there were any.
    logits: ``[B, labels]`` of the sentence.
    leaf_logits, node_logits: ``[B, n, labels]`` and ``[B, m, labels]`` of words and phrases (tree systems).
    hidden_states, attentions, leaf_weights: as in `EncoderOutput`.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    leaf_logits: Tensor | None = None
    node_logits: Tensor | None = None
    hidden_states: Layers | None = None
    attentions: Layers | None = None
    leaf_weights: Layers | None = None


@dataclass
class TranslationOutput(ModelOutput):
    """What a translator returns.

    loss: mean over all target tokens, if labels were given.
    logits: ``[B, q, vocab_size]``.
    decoder_attentions, cross_attentions: one ``[B, H, q, q]`` and ``[B, H, q, s]`` per layer.
    cross_leaf_weights: one ``[B, H or 1, n]`` per layer, the weights w of accumulation in cross-attention.
    encoder_…: outputs of the encoder.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    past_key_values: EncoderDecoderCache | None = None
    decoder_hidden_states: Layers | None = None
    decoder_attentions: Layers | None = None
    cross_attentions: Layers | None = None
    cross_leaf_weights: Layers | None = None
    encoder_last_hidden_state: Tensor | None = None
    encoder_hidden_states: Layers | None = None
    encoder_attentions: Layers | None = None
    encoder_leaf_weights: Layers | None = None


def with_traces(encoded: EncoderOutput, traces: Traces) -> EncoderOutput:
    """The encoder's output with the hidden states, attentions and leaf weights that were collected."""
    if traces.hidden:
        encoded.hidden_states = tuple(traces.hidden)
    if traces.attention:
        encoded.attentions = weights_of(traces.attention)
        leaf_weights = [record.leaf_weights for record in traces.attention]
        encoded.leaf_weights = tuple(w for w in leaf_weights if w is not None) or None
    return encoded


def weights_of(records: list[AttentionRecord] | None) -> Layers | None:
    """The attention weights of each layer, None where there is no attention."""
    return tuple(record.weights for record in records) if records else None
