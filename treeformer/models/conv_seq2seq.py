"""Conv-Seq2Seq (Gehring et al. 2017): gated convolutions, and attention after each one of the decoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import WordEncoder
from treeformer.models.generation import Memory, SequenceTranslator, Target
from treeformer.models.outputs import EncoderOutput
from treeformer.nn.attention import Traces, compute_dtype
from treeformer.nn.gated_convolution import (
    HALF,
    GatedConvolution,
    GatedDecoderLayer,
    NormalisedLinear,
    scale_gradient,
)


class ConvSeq2SeqConfig(SystemConfig):
    """Sizes of a Conv-Seq2Seq.

    Args:
        vocab_size, d_model: see `SystemConfig`; embeddings, keys, values and outputs are ``d_model`` wide.
        channels: width of the convolutions.
        encoder_layers, decoder_layers: numbers of convolutions; a source position sees
            ``encoder_layers · (kernel − 1) / 2`` others to either side.
        kernel: positions that a kernel reads, an odd number.
        positions: rows of the tables of position vectors; all further positions share the last one.
        dropout: on embeddings, on what convolutions read, and on the last states.
    """

    model_type = "treeformer-conv-seq2seq"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "decoder_layers"}  # noqa: RUF012

    channels: int = 512
    encoder_layers: int = 15
    decoder_layers: int = 15
    kernel: int = 3
    positions: int = 1024

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_sizes("channels", "encoder_layers", "decoder_layers", "kernel", "positions")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel: expected an odd number, got {self.kernel}")


@dataclass
class ConvEncoderOutput(EncoderOutput):
    """The encoder's output, and the embedded tokens ``vectors [B, s, d]``, which are part of the values."""

    vectors: Tensor = None  # type: ignore[assignment]  # outputs have no fields without default


class SmallEmbedding(nn.Embedding):
    """A table of vectors that starts as N(0, 0.1²), with a row of zeros for padding if there is padding."""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.1)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].zero_()


class PositionTable(SmallEmbedding):
    """Learnt vectors of positions; positions beyond the table share its last row."""

    def forward(self, vectors: Tensor, first: int = 0) -> Tensor:
        """``vectors [B, s, d]`` with those of the positions ``first``, ``first + 1``, … added."""
        places = torch.arange(first, first + vectors.shape[1], device=vectors.device)
        return vectors + super().forward(places.clamp(max=self.num_embeddings - 1))


class ConvEncoder(WordEncoder):
    """Embedding and centred convolutions."""

    def __init__(self, config: ConvSeq2SeqConfig) -> None:
        super().__init__()
        d, c, dropout = config.d_model, config.channels, config.dropout
        self.embedding = SmallEmbedding(config.vocab_size, d, config.pad_token_id)
        self.positions = PositionTable(config.positions, d)
        self.dropout = nn.Dropout(dropout)
        self.input = NormalisedLinear(d, c, variance=1 - dropout)
        self.convolutions = nn.ModuleList(
            GatedConvolution(c, config.kernel, dropout=dropout) for _ in range(config.encoder_layers)
        )
        self.output = NormalisedLinear(c, d)
        self.readers = config.decoder_layers

    def encode(self, vectors: Tensor, mask: Tensor | None, traces: Traces) -> ConvEncoderOutput:
        """States, and the embedded tokens. The gradients of all attentions meet here, so they are reduced."""
        vectors = self.dropout(self.positions(vectors))
        states = self.input(vectors)
        traces.add_hidden(states)
        for convolution in self.convolutions:
            states = (convolution(states, mask) + states) * HALF
            traces.add_hidden(states)
        states = scale_gradient(self.output(states), 1 / (2 * self.readers))
        return ConvEncoderOutput(last_hidden_state=states, mask=mask, vectors=vectors)


class ConvDecoder(nn.Module):
    """Convolutions that look back, each with attention to the source."""

    def __init__(self, config: ConvSeq2SeqConfig) -> None:
        super().__init__()
        d, c, dropout = config.d_model, config.channels, config.dropout
        self.positions = PositionTable(config.positions, d)
        self.dropout = nn.Dropout(dropout)
        self.input = NormalisedLinear(d, c, variance=1 - dropout)
        self.layers = nn.ModuleList(
            GatedDecoderLayer(c, d, config.kernel, dropout=dropout) for _ in range(config.decoder_layers)
        )
        self.output = NormalisedLinear(c, d)

    def forward(self, vectors: Tensor, target: Target, memory: Memory, traces: Traces) -> Tensor:
        """``[B, q, d]`` states after all layers of embedded tokens ``vectors [B, q, d]``."""
        vectors = self.dropout(self.positions(vectors, target.past))
        states = self.input(vectors)
        bias = memory.bias(compute_dtype(states))
        for index, layer in enumerate(self.layers):
            traces.add_hidden(states)
            states = layer(
                states,
                vectors,
                memory.keys_values[index],
                bias,
                remember=None if target.remember is None else partial(target.remember, layer_idx=index),
                record=traces.cross_attention,
            )
        traces.add_hidden(states)
        return self.dropout(self.output(states))


class ConvSeq2SeqForConditionalGeneration(SequenceTranslator):
    """A convolutional translator; ``generate`` decodes with beams."""

    config_class = ConvSeq2SeqConfig
    config: ConvSeq2SeqConfig

    def __init__(self, config: ConvSeq2SeqConfig) -> None:
        super().__init__(config)
        self.encoder = ConvEncoder(config)
        self.decoder = ConvDecoder(config)
        self.post_init()

    def target_states(self, target: Target, memory: Memory, traces: Traces) -> Tensor:
        target = target.unmasked()
        return self.decoder(self.get_input_embeddings()(target.ids), target, memory, traces)

    def memory(self, encoded: ConvEncoderOutput) -> Memory:
        pair = keys_values(encoded.last_hidden_state, encoded.vectors, encoded.mask)
        return Memory([pair] * self.config.decoder_layers, encoded.mask)


def keys_values(states: Tensor, vectors: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """``[B, 1, s, d]`` keys z and values (z + e) · √½ · √m of states z and embedded tokens e.

    A mean of m values is smaller than one of them; √m, with m the number of tokens of the example, makes up
    for it. Padding is all zeros.
    """
    values = (states + vectors) * HALF
    if mask is None:
        values = values * math.sqrt(states.shape[1])
    else:
        padding = ~mask[..., None]
        count = mask.sum(1)[:, None, None].to(values.dtype)
        states, values = states.masked_fill(padding, 0), values.masked_fill(padding, 0) * count.sqrt()
    return states[:, None], values[:, None]
