"""The head of every classifier: one linear layer over the states of an encoder."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from transformers.utils.generic import can_return_tuple

from treeformer.data.vocabulary import IGNORED
from treeformer.models.encoding import at_last
from treeformer.models.outputs import ClassificationOutput, EncoderOutput
from treeformer.models.pretrained import PreTrained, cross_entropy
from treeformer.ops import TreeBatch


class SequenceClassifier(PreTrained):
    """An encoder and a linear layer.

    Systems that read words implement `sentence`. Systems that read trees need nothing more: the sentence is
    read at the root, and every word and phrase has logits too.
    """

    def add_head(self, encoder: nn.Module) -> None:
        """Finish the construction of a model with this encoder."""
        self.encoder = encoder
        self.classifier = nn.Linear(self.config.d_model, self.config.num_labels)  # type: ignore[arg-type]
        self.post_init()

    @abstractmethod
    def sentence(self, encoded: EncoderOutput) -> Tensor:
        """``[B, d]``: the vector that stands for each sentence."""

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        leaf_targets: Tensor | None = None,
        node_targets: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **inputs: Tensor,
    ) -> ClassificationOutput:
        """Logits ``[B, labels]`` of sentences, and for systems that read trees of every leaf and node.

        Args:
            input_ids, attention_mask: ``[B, n]`` tokens, and 1 for tokens or 0 for padding.
            labels: ``[B]`` labels of the sentences, for the loss.
            leaf_targets, node_targets: ``[B, n]`` and ``[B, m]`` labels of words and phrases, −100 for none;
                the loss is the mean over all of them. Not together with ``labels``.
            inputs: ``node_ids``, ``node_mask`` and ``node_spans``, and ``inputs_embeds`` in place of
                ``input_ids``; see `TreeEncoder.forward`.
        """
        encoded = self.encoder(
            input_ids,
            attention_mask,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            **inputs,
        )
        batch: TreeBatch | None = encoded.batch
        leaf_logits = node_logits = None
        if batch is None:
            logits = self.classifier(self.sentence(encoded))
        else:
            part_logits = self.classifier(encoded.last_hidden_state)
            leaf_logits, node_logits = part_logits.split([batch.n, batch.m], dim=1)
            logits = at_last(node_logits, batch.node_mask)
        loss = None
        if leaf_targets is not None or node_targets is not None:
            if labels is not None:
                raise ValueError("labels: expected these or leaf_targets and node_targets, got both")
            if batch is None:
                raise ValueError("leaf_targets, node_targets: a model that reads words alone has no phrases")
            loss = phrase_loss(part_logits, leaf_targets, node_targets, batch)
        elif labels is not None:
            loss = sentence_loss(logits, labels)
        return ClassificationOutput(
            loss=loss,
            logits=logits,
            leaf_logits=leaf_logits,
            node_logits=node_logits,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions if output_attentions else None,
            leaf_weights=encoded.leaf_weights,
        )


def sentence_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of ``logits [B, classes]`` and ``labels [B]``."""
    if labels.shape != logits.shape[:1]:
        raise ValueError(f"labels: expected a shape {[len(logits)]}, got {list(labels.shape)}")
    return cross_entropy(logits, labels)


def phrase_loss(
    logits: Tensor, leaf_targets: Tensor | None, node_targets: Tensor | None, batch: TreeBatch
) -> Tensor:
    """Mean cross-entropy over all leaves and nodes with a target; ``logits [B, n + m, labels]``."""
    parts = []
    for name, targets, mask in (
        ("leaf_targets", leaf_targets, batch.leaf_mask),
        ("node_targets", node_targets, batch.node_mask),
    ):
        if targets is None:
            targets = torch.full_like(mask, IGNORED, dtype=torch.long)
        if targets.shape != mask.shape:
            raise ValueError(f"{name}: expected a shape {list(mask.shape)}, got {list(targets.shape)}")
        parts.append(targets.masked_fill(~mask, IGNORED))
    return cross_entropy(logits, torch.cat(parts, dim=1))
