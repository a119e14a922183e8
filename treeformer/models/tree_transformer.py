"""The Tree Transformer of "Tree-Structured Attention with Hierarchical Accumulation" (ICLR 2020)."""

from __future__ import annotations

from typing import Any, Literal, get_args

from torch import Tensor, nn

from treeformer.models.bare import BareEncoder
from treeformer.models.classification import SequenceClassifier
from treeformer.models.encoding import TreeEncoder
from treeformer.models.generation import AttentionTranslator, Memory
from treeformer.models.outputs import EncoderOutput
from treeformer.models.pretrained import PreTrained, check_ids
from treeformer.models.pretrained_words import pretrained_words
from treeformer.models.transformer import TransformerConfig, encoder_stack, plain_attention
from treeformer.nn import (
    ScaledEmbedding,
    Traces,
    TreeAttention,
    TreeComposition,
    WordContext,
    with_positions,
)
from treeformer.nn.packing import can_pack, joined, packed, unpacked
from treeformer.nn.tree_attention import zero_padding
from treeformer.ops import Convention, TreeBatch
from treeformer.ops.convention import check_convention

LeafInputs = Literal["word", "context"]
NodeInputs = Literal["label", "composed"]


class TreeTransformerConfig(TransformerConfig):
    """Sizes of a Tree Transformer: those of the Transformer, and the following.

    Args:
        node_vocab_size: number of phrase labels. Their vectors are rows of the same table, after the tokens;
            they are never predicted.
        vertical_rows, horizontal_rows: sizes of the tables of hierarchical embeddings.
        convention: ``paper``, or ``released`` for the authors' code.
        accumulate: False leaves node values as they are, without hierarchical embeddings.
        hierarchical_embeddings: False leaves them out.
        subtree_mask: False lets everything see everything in the encoder. Nodes have no positions, so all
            nodes of a sentence that have the same label then share one state in every layer, unless they are
            composed.
        node_inputs: what a node is before the first layer. ``label``: the vector of its label, as in the
            paper. ``composed``: a state composed from its children and its label, see `TreeComposition`.
        leaf_inputs: what a leaf is before the first layer, and before composition. ``word``: the vector of
            its word, as in the paper. ``context``: with its neighbours, see `WordContext`.
    """

    model_type = "treeformer-tree-transformer"

    node_vocab_size: int = 100
    vertical_rows: int = 50
    horizontal_rows: int = 100
    convention: Convention = "paper"
    accumulate: bool = True
    hierarchical_embeddings: bool = True
    subtree_mask: bool = True
    node_inputs: NodeInputs = "label"
    leaf_inputs: LeafInputs = "word"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        check_convention(self.convention)
        self.check_choice("node_inputs", get_args(NodeInputs))
        self.check_choice("leaf_inputs", get_args(LeafInputs))
        self.check_sizes("node_vocab_size", "vertical_rows", "horizontal_rows")


class TreeTransformerEncoder(TreeEncoder):
    """Embedding of leaves and nodes, and encoder layers with tree attention."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config.vocab_size)
        self.embedding = ScaledEmbedding(
            config.vocab_size + config.node_vocab_size, config.d_model, config.pad_token_id
        )
        self.pretrained = pretrained_words(config, config.d_model)
        self.subtree_mask = config.subtree_mask
        self.dropout = nn.Dropout(config.dropout)
        self.context: WordContext | None = None
        if config.leaf_inputs == "context":
            self.context = WordContext(config.d_model, dropout=config.dropout)
        self.composition: TreeComposition | None = None
        if config.node_inputs == "composed":
            self.composition = TreeComposition(config.d_model, dropout=config.dropout)
        self.stack = encoder_stack(config, [tree_attention(config) for _ in range(config.encoder_layers)])

    def encode(
        self, vectors: Tensor, node_ids: Tensor | None, batch: TreeBatch, traces: Traces
    ) -> EncoderOutput:
        if node_ids is None:
            raise ValueError("node_ids: expected a tensor, got None")
        if node_ids.shape != batch.node_mask.shape:
            raise ValueError(
                f"node_ids: expected a shape {list(batch.node_mask.shape)}, got {list(node_ids.shape)}"
            )
        node_ids = node_ids.masked_fill(~batch.node_mask, 0)
        check_ids("node_ids", node_ids, self.embedding.num_embeddings - self.vocab_size)
        labels = self.embedding(node_ids + self.vocab_size)
        leaves = vectors if self.context is None else self.context(vectors, batch.leaf_mask)
        words = with_positions(leaves)  # nodes have no positions
        pack = self.subtree_mask and can_pack(batch) and not traces.wanted
        join = packed if pack else joined
        if self.composition is None:
            states = self.dropout(join(words, labels, batch))
        else:  # no dropout on composed states: what they are composed of has dropout
            nodes = self.composition(self.dropout(leaves), self.dropout(labels), batch)
            states = join(self.dropout(words), nodes, batch)
        states = self.stack(states, batch, traces)
        states = unpacked(states, batch) if pack else zero_padding(states, batch)
        return EncoderOutput(last_hidden_state=states, mask=batch.mask, batch=batch)


class TreeTransformerPreTrained(PreTrained):
    """Base of the models below."""

    config_class = TreeTransformerConfig
    config: TreeTransformerConfig

    def resize_token_embeddings(self, *arguments: Any, **options: Any) -> Any:
        """Refused: the labels' rows follow the tokens' rows, so there is no room for new tokens."""
        raise NotImplementedError("the table of a tree model holds tokens and labels, it cannot grow")


class TreeTransformerModel(TreeTransformerPreTrained, BareEncoder):
    """A tree encoder without a head, for networks of your own."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config)
        self.add_encoder(TreeTransformerEncoder(config))


class TreeTransformerForSequenceClassification(TreeTransformerPreTrained, SequenceClassifier):
    """A tree encoder and one linear layer for the root, and for every word and phrase."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config)
        self.add_head(TreeTransformerEncoder(config))


class TreeTransformerForConditionalGeneration(TreeTransformerPreTrained, AttentionTranslator):
    """A Tree Transformer that translates: every decoder layer attends to all leaves and nodes."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__(config)
        self.encoder = TreeTransformerEncoder(config)
        layers = range(config.decoder_layers)
        self.add_decoder(
            self_attentions=[plain_attention(config) for _ in layers],
            cross_attentions=[tree_attention(config) for _ in layers],
        )

    def memory(self, encoded: EncoderOutput) -> Memory:
        layers = [
            attention.read_memory(encoded.last_hidden_state, encoded.batch)
            for attention in self.decoder.cross_attentions
        ]
        weights = [leaf_weights for _, _, leaf_weights in layers if leaf_weights is not None]
        return Memory(
            [(keys, values) for keys, values, _ in layers], encoded.mask, leaf_weights=tuple(weights) or None
        )


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
