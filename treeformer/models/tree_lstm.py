"""The Tree-LSTM of "Improved Semantic Representations From Tree-Structured LSTM Networks" (ACL 2015)."""

from __future__ import annotations

from typing import Any, get_args

import torch
from torch import Tensor, nn

from treeformer.models.classification import SequenceClassifier
from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import TreeEncoder, word_vectors
from treeformer.models.outputs import EncoderOutput
from treeformer.nn import Traces
from treeformer.nn.tree_lstm import Composition, TreeLstm, WordCell
from treeformer.ops import TreeBatch


class TreeLstmConfig(SystemConfig):
    """Sizes of a Tree-LSTM.

    Args:
        vocab_size, num_labels: see `SystemConfig`.
        d_model: width of the states.
        embedding_dim: width of the word vectors, None for d_model.
        composition: ``child-sum`` for any trees, or ``binary`` for trees with at most two children per node.
        dropout: on word vectors, and on states before the classifier.
    """

    model_type = "treeformer-tree-lstm"

    embedding_dim: int | None = None
    composition: Composition = "child-sum"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_choice("composition", get_args(Composition))
        if self.embedding_dim is not None:
            self.check_sizes("embedding_dim")


class TreeLstmEncoder(TreeEncoder):
    """Word vectors, and a Tree-LSTM over them. Phrases have no labels: ``node_ids`` are ignored."""

    def __init__(self, config: TreeLstmConfig) -> None:
        super().__init__(config.vocab_size)
        width = config.d_model if config.embedding_dim is None else config.embedding_dim
        self.embedding, self.pretrained = word_vectors(config, width)
        self.dropout = nn.Dropout(config.dropout)
        self.words = WordCell(width, config.d_model)
        self.phrases = TreeLstm(config.d_model, config.composition)

    def encode(
        self, vectors: Tensor, node_ids: Tensor | None, batch: TreeBatch, traces: Traces
    ) -> EncoderOutput:
        vectors = self.dropout(vectors)
        words = self.words(vectors.masked_fill(~batch.leaf_mask[..., None], 0))
        phrases = self.phrases(words, batch)
        states = torch.cat([words.hidden, phrases.hidden], dim=1).to(vectors.dtype)
        states = self.dropout(states)
        traces.add_hidden(states)
        return EncoderOutput(last_hidden_state=states, mask=batch.mask, batch=batch)


class TreeLstmForSequenceClassification(SequenceClassifier):
    """A Tree-LSTM and one linear layer for the root, and for every word and phrase."""

    config_class = TreeLstmConfig
    config: TreeLstmConfig

    def __init__(self, config: TreeLstmConfig) -> None:
        super().__init__(config)
        self.add_head(TreeLstmEncoder(config))
