"""What systems that read trees share: trees from inputs, and answers for every word and phrase."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from transformers import EncoderDecoderCache
from transformers.utils.generic import can_return_tuple

from treeformer.data.vocabulary import IGNORED
from treeformer.models.classification import SequenceClassifier, sentence_loss
from treeformer.models.generation import SequenceTranslator
from treeformer.models.outputs import ClassificationOutput, EncoderOutput, Layers, TranslationOutput
from treeformer.models.pretrained import cross_entropy, required
from treeformer.ops import TreeBatch


class TreeEncoder(nn.Module):
    """What turns the tokens, labels and spans of trees into states."""

    main_input_name = "input_ids"  # what `generate` hands to an encoder

    @abstractmethod
    def encode(
        self,
        input_ids: Tensor,
        node_ids: Tensor | None,
        batch: TreeBatch,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> EncoderOutput:
        """States ``[B, n + m, d]`` of leaves and nodes of trees that are a batch already."""

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        node_ids: Tensor | None = None,
        node_mask: Tensor | None = None,
        node_spans: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> EncoderOutput:
        """The same from inputs.

        Args:
            input_ids, attention_mask: ``[B, n]`` tokens of the leaves, padded on the right.
            node_ids, node_mask: ``[B, m]`` labels of the nodes in post-order, from 0, padded on the right.
            node_spans: ``[B, m, 2]`` half-open spans of the nodes.
        """
        batch = tree_batch(mask_of(input_ids, attention_mask), node_mask, node_spans)
        return self.encode(input_ids, node_ids, batch, output_attentions, output_hidden_states)


class TreeTranslator(SequenceTranslator):
    """A translator whose encoder is a `TreeEncoder`; its `memory` takes the batch of trees."""

    encoder: Any

    def cross_leaf_weights(self, encoded: Any, batch: TreeBatch) -> Layers:
        """The weights w of accumulation in cross-attention, for systems whose config says ``accumulate``."""
        raise NotImplementedError

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        node_ids: Tensor | None = None,
        node_mask: Tensor | None = None,
        node_spans: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: EncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> TranslationOutput:
        """Logits ``[B, q, vocab_size]`` of the target given the source tree.

        Args:
            input_ids, …, node_spans: see `TreeEncoder.forward`.
            encoder_outputs: with these, ``input_ids`` and ``node_ids`` are not needed.
            decoder_input_ids, …: see `SequenceTranslator.decode`.
        """
        cached = past_key_values is not None and past_key_values.is_updated.get(0, False)
        weighs = output_attentions and getattr(self.config, "accumulate", False)
        encoded = encoder_outputs
        batch = None  # what is cached needs no trees
        if not cached or encoded is None or weighs:
            batch = tree_batch(mask_of(input_ids, attention_mask), node_mask, node_spans, check=not cached)
        if encoded is None:
            ids = required("input_ids", input_ids)
            encoded = self.encoder.encode(ids, node_ids, batch, output_attentions, output_hidden_states)
        output = self.decode(
            encoded,
            lambda: self.memory(encoded, batch),
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            past_key_values=past_key_values,
            labels=labels,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )
        if batch is not None and weighs:
            output.cross_leaf_weights = self.cross_leaf_weights(encoded, batch)
        return output


class TreeClassifier(SequenceClassifier):
    """A `TreeEncoder` and one linear layer that reads the root, and every word and phrase if one wants."""

    encoder: Any

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        node_ids: Tensor | None = None,
        node_mask: Tensor | None = None,
        node_spans: Tensor | None = None,
        labels: Tensor | None = None,
        leaf_targets: Tensor | None = None,
        node_targets: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> ClassificationOutput:
        """Logits of the sentence (its root), of every leaf and of every node.

        Args:
            input_ids, …, node_spans: see `TreeEncoder.forward`.
            labels: ``[B]`` labels of the roots; the loss is theirs.
            leaf_targets, node_targets: ``[B, n]`` and ``[B, m]`` labels of words and phrases, −100 for none;
                the loss is the mean over all of them. Not together with ``labels``.
        """
        batch = tree_batch(mask_of(input_ids, attention_mask), node_mask, node_spans)
        encoded = self.encoder.encode(input_ids, node_ids, batch, output_attentions, output_hidden_states)
        logits = self.classifier(encoded.last_hidden_state)
        leaf_logits, node_logits = logits.split([batch.n, batch.m], dim=1)
        root_logits = at_last(node_logits, batch.node_mask)
        if leaf_targets is None and node_targets is None:
            loss = sentence_loss(root_logits, labels)
        elif labels is None:
            loss = _phrase_loss(logits, leaf_targets, node_targets, batch)
        else:
            raise ValueError("labels: expected these or leaf_targets and node_targets, got both")
        return self.output(encoded, root_logits, loss, leaf_logits=leaf_logits, node_logits=node_logits)


def tree_batch(
    attention_mask: Tensor, node_mask: Tensor | None, node_spans: Tensor | None, *, check: bool = True
) -> TreeBatch:
    """The trees of a model's inputs. On the CPU they are checked; on a GPU that would wait for the device."""
    node_mask, node_spans = required("node_mask", node_mask), required("node_spans", node_spans)
    mask = attention_mask.bool()
    check = check and mask.device.type == "cpu"
    if check and (mask[:, 1:] & ~mask[:, :-1]).any():
        raise ValueError("attention_mask: expected leaves first, then padding, got leaves after padding")
    return TreeBatch.from_spans(node_spans, node_mask, mask.sum(1), width=mask.shape[1], validate=check)


def mask_of(input_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor:
    """The attention mask, of ones if there is none."""
    if attention_mask is not None:
        return attention_mask
    if input_ids is None:
        raise ValueError("attention_mask: expected with encoder_outputs, got None")
    return torch.ones_like(input_ids)


def at_last(values: Tensor, mask: Tensor) -> Tensor:
    """``[B, d]``: of ``values [B, s, d]`` those at the last place that is there, ``mask [B, s]``.

    For nodes in post-order that is the root, for leaves the last word.
    """
    return values[torch.arange(len(mask), device=mask.device), mask.sum(1) - 1]


def _phrase_loss(
    logits: Tensor, leaf_targets: Tensor | None, node_targets: Tensor | None, batch: TreeBatch
) -> Tensor:
    """Mean cross-entropy over all leaves and nodes that have a target; ``logits [B, n + m, labels]``."""
    targets = [
        torch.full_like(mask, IGNORED, dtype=torch.long) if given is None else given
        for given, mask in ((leaf_targets, batch.leaf_mask), (node_targets, batch.node_mask))
    ]
    for name, given, mask in zip(
        ("leaf_targets", "node_targets"), targets, (batch.leaf_mask, batch.node_mask), strict=True
    ):
        if given.shape != mask.shape:
            raise ValueError(f"{name}: expected a shape {list(mask.shape)}, got {list(given.shape)}")
    return cross_entropy(logits, torch.cat(targets, dim=1).masked_fill(~batch.mask, IGNORED))
