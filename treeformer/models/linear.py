"""The linear classifier: the mean of the vectors of a phrase's words, and one linear layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from treeformer.models.classification import SequenceClassifier
from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import TreeEncoder, word_vectors
from treeformer.models.outputs import EncoderOutput
from treeformer.nn import Traces
from treeformer.ops import TreeBatch


class LinearConfig(SystemConfig):
    """Sizes of a linear classifier.

    Over an encoder that is trained this is the usual fine-tuning, without a hidden layer, on the labels of
    texts alone (``targets: text``).

    Args:
        vocab_size, num_labels: see `SystemConfig`.
        d_model: width of the word vectors, or of the hidden layer. It is that of the encoder if there is one
            and no hidden layer.
        hidden: put a hidden layer between the mean and the classifier.
        dropout: on word vectors, and on what the classifier reads.
    """

    model_type = "treeformer-linear"

    hidden: bool = False

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        if self.pretrained is not None and not self.hidden:
            self.d_model = self.pretrained["width"]


class LinearEncoder(TreeEncoder):
    """Means of word vectors. Trees only say which phrases there are: ``node_ids`` are ignored."""

    def __init__(self, config: LinearConfig) -> None:
        super().__init__(config.vocab_size)
        self.embedding, self.pretrained = word_vectors(config, None)
        width = config.d_model if self.pretrained is None else self.pretrained.settings.width
        self.dropout = nn.Dropout(config.dropout)
        self.hidden: nn.Module = nn.Identity()
        if config.hidden:
            layer = nn.Linear(width, config.d_model)
            self.hidden = nn.Sequential(layer, nn.GELU(), nn.Dropout(config.dropout))

    def encode(
        self, vectors: Tensor, node_ids: Tensor | None, batch: TreeBatch, traces: Traces
    ) -> EncoderOutput:
        words = vectors.masked_fill(~batch.leaf_mask[..., None], 0)
        states = self.hidden(self.dropout(torch.cat([words, means(words, batch)], dim=1)))
        traces.add_hidden(states)
        return EncoderOutput(last_hidden_state=states, mask=batch.mask, batch=batch)


def means(leaves: Tensor, batch: TreeBatch) -> Tensor:
    """``[B, m, d]``: the mean of the leaves under each node; zeros in the padding."""
    covers = batch.covers.to(leaves.dtype)
    sums: Tensor = covers @ leaves
    return sums / covers.sum(-1, keepdim=True).clamp(min=1)


class LinearForSequenceClassification(SequenceClassifier):
    """Means of word vectors and one linear layer for the root, and for every word and phrase."""

    config_class = LinearConfig
    config: LinearConfig

    def __init__(self, config: LinearConfig) -> None:
        super().__init__(config)
        self.add_head(LinearEncoder(config))
