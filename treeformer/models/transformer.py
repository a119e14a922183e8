"""The Transformer: the plain twin of the Tree Transformer, of the same size and made of the same parts."""

from __future__ import annotations

from typing import Any, get_args

import torch
from torch import Tensor, nn
from transformers.utils.generic import can_return_tuple

from treeformer.models.classification import SequenceClassifier, sentence_loss
from treeformer.models.configuration import SystemConfig
from treeformer.models.generation import AttentionTranslator, Memory
from treeformer.models.outputs import (
    ClassificationOutput,
    EncoderOutput,
    recorded_weights,
)
from treeformer.models.pretrained import (
    check_choice,
    check_ids,
    check_mask,
    check_rates,
    check_sizes,
    compute_dtype,
    required,
)
from treeformer.nn import (
    Attention,
    AttentionRecord,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    ScaledEmbedding,
    with_positions,
)
from treeformer.nn.attention import additive
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
        check_choice(self, "norm", get_args(Norm))
        check_sizes(self, "encoder_layers", "decoder_layers", "attention_heads", "ffn_dim")
        check_rates(self, "attention_dropout")


class TransformerEncoder(nn.Module):
    """Embedding and encoder layers."""

    main_input_name = "input_ids"  # what `generate` hands to an encoder

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = ScaledEmbedding(config.vocab_size, config.d_model, config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = Encoder(
            [
                EncoderLayer(self.mixer(config, layer), **layer_sizes(config))
                for layer in range(config.encoder_layers)
            ],
            config.d_model,
            norm=config.norm,
        )

    def mixer(self, config: Any, layer: int) -> nn.Module:
        """What a layer mixes positions with: self-attention, or what stands in its place."""
        return attention(config)

    def context(self, attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
        """What every mixer is told of ``attention_mask [B, n]``: a bias for self-attention."""
        return additive(attention_mask[:, None, None].bool(), dtype)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> EncoderOutput:
        """States of ``input_ids [B, n]``; ``attention_mask [B, n]`` is 1 for tokens that are there."""
        input_ids = required("input_ids", input_ids)
        check_ids("input_ids", input_ids, self.embedding.num_embeddings)
        states = self.dropout(with_positions(self.embedding(input_ids)))
        context = None
        if attention_mask is not None:
            check_mask(input_ids, attention_mask)
            context = self.context(attention_mask, compute_dtype(states))
        record: list[AttentionRecord] | None = [] if output_attentions else None
        hidden: list[Tensor] | None = [] if output_hidden_states else None
        return EncoderOutput(
            last_hidden_state=self.stack(states, context, record=record, hidden=hidden),
            hidden_states=None if hidden is None else tuple(hidden),
            attentions=recorded_weights(record),
        )


class TransformerForSequenceClassification(SequenceClassifier):
    """A Transformer encoder; the mean of its states goes to one linear layer."""

    config_class = TransformerConfig
    config: TransformerConfig
    encoder_class = TransformerEncoder

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.add_head(self.encoder_class(config))

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> ClassificationOutput:
        """Logits ``[B, labels]``, and the loss if ``labels [B]`` are given."""
        encoded = self.encoder(input_ids, attention_mask, output_attentions, output_hidden_states)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        present = mask.to(encoded.last_hidden_state.dtype)[..., None]
        logits = self.classifier((encoded.last_hidden_state * present).sum(1) / present.sum(1))
        return self.output(encoded, logits, sentence_loss(logits, labels))


class TransformerForConditionalGeneration(AttentionTranslator):
    """A Transformer that translates; ``generate`` decodes with beams."""

    config_class = TransformerConfig
    config: TransformerConfig
    encoder_class = TransformerEncoder

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)
        self.decoder = Decoder(
            [
                DecoderLayer(self.mixer(config, layer), attention(config), **layer_sizes(config))
                for layer in range(config.decoder_layers)
            ],
            config.d_model,
            norm=config.norm,
        )
        self.post_init()

    def mixer(self, config: Any, layer: int) -> nn.Module:
        """What a decoder layer looks back with: self-attention, or what stands in its place."""
        return attention(config)

    def memory(self, encoded: EncoderOutput, context: Tensor | None) -> Memory:
        states = encoded.last_hidden_state
        own = [attention.project_memory(states) for attention in self.decoder.cross_attentions]
        return Memory(own, context)


def attention(config: TransformerConfig) -> Attention:
    """One attention with the settings of the config."""
    return Attention(config.d_model, config.attention_heads, dropout=config.attention_dropout)


def layer_sizes(config: TransformerConfig) -> dict[str, Any]:
    """What every encoder and decoder layer takes beside its attention."""
    return {
        "d_model": config.d_model,
        "ffn_dim": config.ffn_dim,
        "dropout": config.dropout,
        "norm": config.norm,
    }
