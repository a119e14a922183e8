"""The Tree Transformer of "Tree-Structured Attention with Hierarchical Accumulation" (ICLR 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from treeformer.models.generation import AttentionTranslator, Memory
from treeformer.models.outputs import (
    EncoderOutput,
    Layers,
    recorded_leaf_weights,
    recorded_weights,
)
from treeformer.models.pretrained import PreTrained, check_ids, check_sizes, required
from treeformer.models.transformer import TransformerConfig, layer_sizes
from treeformer.models.tree_reading import TreeClassifier, TreeEncoder, TreeTranslator
from treeformer.nn import (
    Attention,
    AttentionRecord,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    ScaledEmbedding,
    TreeAttention,
    with_positions,
)
from treeformer.ops import Convention, TreeBatch
from treeformer.ops.convention import check_convention


class TreeTransformerConfig(TransformerConfig):
    """Sizes of a Tree Transformer: those of the plain one, and the following.

    Args:
        node_vocab_size: number of phrase labels. Their vectors are rows of the same table, after the tokens;
            they are never predicted.
        vertical_rows, horizontal_rows: sizes of the tables of hierarchical embeddings.
        convention: ``paper``, or ``released`` for the authors' code.
        accumulate: False leaves node values as they are, without hierarchical embeddings.
        hierarchical_embeddings: False leaves them out.
        subtree_mask: False lets everything see everything in the encoder. Nodes have no positions, so all
            nodes of a sentence that have the same label then share one state in every layer.
    """

    model_type = "treeformer-tree-transformer"

    node_vocab_size: int = 100
    vertical_rows: int = 50
    horizontal_rows: int = 100
    convention: Convention = "paper"
    accumulate: bool = True
    hierarchical_embeddings: bool = True
    subtree_mask: bool = True

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        check_convention(self.convention)
        check_sizes(self, "node_vocab_size", "vertical_rows", "horizontal_rows")


class TreeTransformerEncoder(TreeEncoder):
    """Embedding of leaves and nodes, and tree encoder layers."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__()
        self.vocab_size = config.vocab_size
        self.embedding = ScaledEmbedding(
            config.vocab_size + config.node_vocab_size, config.d_model, config.pad_token_id
        )
        self.dropout = nn.Dropout(config.dropout)
        self.stack = Encoder(
            [
                EncoderLayer(tree_attention(config), **layer_sizes(config))
                for _ in range(config.encoder_layers)
            ],
            config.d_model,
            norm=config.norm,
        )

    def encode(
        self,
        input_ids: Tensor,
        node_ids: Tensor | None,
        batch: TreeBatch,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> EncoderOutput:
        """States ``[B, n + m, d]`` of leaves and nodes."""
        node_ids = required("node_ids", node_ids)
        if node_ids.shape != batch.node_mask.shape:
            raise ValueError(
                f"node_ids: expected a shape {list(batch.node_mask.shape)}, got {list(node_ids.shape)}"
            )
        node_ids = node_ids.masked_fill(~batch.node_mask, 0)
        check_ids("input_ids", input_ids, self.vocab_size)
        check_ids("node_ids", node_ids, self.embedding.num_embeddings - self.vocab_size)
        record: list[AttentionRecord] | None = [] if output_attentions else None
        hidden: list[Tensor] | None = [] if output_hidden_states else None
        states = self.dropout(self._embed(input_ids, node_ids))
        return EncoderOutput(
            last_hidden_state=self.stack(states, batch, record=record, hidden=hidden),
            hidden_states=None if hidden is None else tuple(hidden),
            attentions=recorded_weights(record),
            leaf_weights=recorded_leaf_weights(record),
        )

    def _embed(self, input_ids: Tensor, node_ids: Tensor) -> Tensor:
        """``[B, n + m, d]``: tokens with their positions, labels without."""
        vectors = self.embedding(torch.cat([input_ids, node_ids + self.vocab_size], dim=1))
        leaves, nodes = vectors.split([input_ids.shape[1], node_ids.shape[1]], dim=1)
        return torch.cat([with_positions(leaves), nodes], dim=1)


class TreeModel(PreTrained):
    """What both tree models share."""

    config_class = TreeTransformerConfig
    config: TreeTransformerConfig
    encoder: TreeTransformerEncoder

    def resize_token_embeddings(self, *arguments: Any, **options: Any) -> Any:
        """Refused: the rows of the labels follow those of the tokens, so new tokens have no place."""
        raise NotImplementedError("the table of a tree model holds tokens and labels, it cannot grow")


class TreeTransformerForSequenceClassification(TreeModel, TreeClassifier):
    """A tree encoder and one linear layer that reads the root, and every word and phrase if one wants."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config)
        self.add_head(TreeTransformerEncoder(config))


class TreeTransformerForConditionalGeneration(TreeModel, TreeTranslator, AttentionTranslator):
    """A Tree Transformer that translates: the source is a tree, every decoder layer attends to all of it."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config)
        self.encoder = TreeTransformerEncoder(config)
        self.decoder = Decoder(
            [
                DecoderLayer(
                    Attention(config.d_model, config.attention_heads, dropout=config.attention_dropout),
                    tree_attention(config),
                    **layer_sizes(config),
                )
                for _ in range(config.decoder_layers)
            ],
            config.d_model,
            norm=config.norm,
        )
        self.post_init()

    def memory(self, encoded: EncoderOutput, context: TreeBatch) -> Memory:
        states = encoded.last_hidden_state
        own = [attention.keys_values(states, context) for attention in self.decoder.cross_attentions]
        return Memory(own, context.mask)

    def cross_leaf_weights(self, encoded: EncoderOutput, batch: TreeBatch) -> Layers:
        leaf_states = encoded.last_hidden_state[:, : batch.n]
        return tuple(attention.leaf_weights(leaf_states) for attention in self.decoder.cross_attentions)


def tree_attention(config: TreeTransformerConfig) -> TreeAttention:
    """One tree attention with the settings of the config."""
    return TreeAttention(
        config.d_model,
        config.attention_heads,
        dropout=config.attention_dropout,
        vertical_rows=config.vertical_rows,
        horizontal_rows=config.horizontal_rows,
        convention=config.convention,
        accumulate=config.accumulate,
        hierarchical_embeddings=config.hierarchical_embeddings,
        subtree_mask=config.subtree_mask,
    )
