"""The Transformer, with the parts and sizes of the Tree Transformer, so that both can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch import Tensor, nn

from treeformer.models.bare import BareEncoder
from treeformer.models.classification import SequenceClassifier
from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import WordEncoder, word_vectors
from treeformer.models.generation import AttentionTranslator, Memory
from treeformer.models.outputs import EncoderOutput
from treeformer.nn import Attention, Encoder, EncoderLayer, Traces, with_positions
from treeformer.nn.attention import additive, compute_dtype
from treeformer.nn.stacks import Norm


class TransformerConfig(SystemConfig):
    """Sizes of a Transformer; the defaults are the base model of Vaswani et al. (2017).

    Args:
        vocab_size, d_model, num_labels: see `SystemConfig`.
        ffn_dim, attention_heads: width of the feed-forward nets, and number of heads.
        encoder_layers, decoder_layers: they need not be equal; a classifier has no decoder.
        dropout: on embeddings and residual branches.
        attention_dropout: on attention weights.
        norm: ``post``, or ``pre`` with one last norm for each stack.
    """

    model_type = "treeformer-transformer"
    attribute_map = {  # noqa: RUF012
        "hidden_size": "d_model",
        "num_attention_heads": "attention_heads",
        "num_hidden_layers": "decoder_layers",
    }

    encoder_layers: int = 6
    decoder_layers: int = 6
    attention_heads: int = 8
    ffn_dim: int = 2048
    attention_dropout: float = 0.0
    norm: Norm = "post"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_choice("norm", get_args(Norm))
        self.check_sizes("encoder_layers", "decoder_layers", "attention_heads", "ffn_dim")
        self.check_rates("attention_dropout")


class TransformerEncoder(WordEncoder):
    """Embedding and encoder layers."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding, self.pretrained = word_vectors(config, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = encoder_stack(
            config, [self.mixer(config, layer) for layer in range(config.encoder_layers)]
        )

    def mixer(self, config: Any, layer: int) -> nn.Module:
        """The part of a layer that mixes positions: self-attention, or its replacement."""
        return plain_attention(config)

    def context(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """What every mixer reads beside the states, from ``mask [B, n]``: a bias for self-attention."""
        return additive(mask[:, None, None], dtype)

    def encode(self, vectors: Tensor, mask: Tensor | None, traces: Traces) -> EncoderOutput:
        states = self.dropout(with_positions(vectors))
        context = None if mask is None else self.context(mask, compute_dtype(states))
        states = self.stack(states, context, traces)
        return EncoderOutput(last_hidden_state=states, mask=mask)


class TransformerModel(BareEncoder):
    """A Transformer encoder without a head."""

    config_class = TransformerConfig
    config: TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.add_encoder(TransformerEncoder(config))


class TransformerForSequenceClassification(SequenceClassifier):
    """A Transformer encoder; the mean of its states goes to one linear layer."""

    config_class = TransformerConfig
    config: TransformerConfig
    encoder_class = TransformerEncoder

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.add_head(self.encoder_class(config))

    def sentence(self, encoded: EncoderOutput) -> Tensor:
        states = encoded.last_hidden_state
        if encoded.mask is None:
            return states.mean(1)
        present = encoded.mask.to(states.dtype)[..., None]
        return (states * present).sum(1) / present.sum(1)


class TransformerForConditionalGeneration(AttentionTranslator):
    """A Transformer that translates; ``generate`` decodes with beams."""

    config_class = TransformerConfig
    config: TransformerConfig
    encoder_class = TransformerEncoder

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)
        layers = range(config.decoder_layers)
        self.add_decoder(
            self_attentions=[self.mixer(config, layer) for layer in layers],
            cross_attentions=[plain_attention(config) for _ in layers],
        )

    def mixer(self, config: Any, layer: int) -> nn.Module:
        """The part of a decoder layer that looks back: self-attention, or its replacement."""
        return plain_attention(config)

    def memory(self, encoded: EncoderOutput) -> Memory:
        states = encoded.last_hidden_state
        keys_values = [attention.project_memory(states) for attention in self.decoder.cross_attentions]
        return Memory(keys_values, encoded.mask)


def plain_attention(config: TransformerConfig) -> Attention:
    """One attention with the settings of the config."""
    return Attention(config.d_model, config.attention_heads, dropout=config.attention_dropout)


def encoder_stack(config: TransformerConfig, attentions: Sequence[nn.Module]) -> Encoder:
    """Encoder layers with these attentions and the settings of the config."""
    layers = [
        EncoderLayer(attention, config.d_model, config.ffn_dim, dropout=config.dropout, norm=config.norm)
        for attention in attentions
    ]
    return Encoder(layers, config.d_model, norm=config.norm)
