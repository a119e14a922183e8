"""The BiLSTM classifier: two LSTMs read the words, one from each end."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from treeformer.models.classification import SequenceClassifier
from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import WordEncoder, word_vectors
from treeformer.models.outputs import EncoderOutput
from treeformer.models.pretrained import check_padding
from treeformer.nn import BiLstmLayer, Traces
from treeformer.nn.bilstm import at_positions, mirrored_places

Pooling = Literal["last", "attention"]


class BiLstmConfig(SystemConfig):
    """Sizes of a BiLSTM.

    Args:
        vocab_size, num_labels: see `SystemConfig`.
        d_model: width of the states, half of it for each direction.
        embedding_dim: width of the word vectors, None for d_model.
        encoder_layers: each reads both directions of the one below.
        dropout: on word vectors, between layers and before the classifier.
        pooling: the vector of a sentence: ``last``, the last states of both directions, or ``attention``, a
            mean of all states with learnt weights.
    """

    model_type = "treeformer-bilstm"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "encoder_layers"}  # noqa: RUF012

    embedding_dim: int | None = None
    encoder_layers: int = 1
    pooling: Pooling = "last"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_choice("pooling", get_args(Pooling))
        self.check_sizes("encoder_layers")
        if self.embedding_dim is not None:
            self.check_sizes("embedding_dim")
        if self.d_model % 2:
            raise ValueError(f"d_model: expected an even number, half for each direction, got {self.d_model}")


class BiLstmEncoder(WordEncoder):
    """Embedding and layers of two LSTMs each."""

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__()
        width = config.d_model if config.embedding_dim is None else config.embedding_dim
        self.embedding, self.pretrained = word_vectors(config, width)
        self.dropout = nn.Dropout(config.dropout)
        widths = [width, *[config.d_model] * (config.encoder_layers - 1)]
        self.layers = nn.ModuleList(BiLstmLayer(width, config.d_model) for width in widths)

    def encode(self, vectors: Tensor, mask: Tensor | None, traces: Traces) -> EncoderOutput:
        """States ``[B, n, d]``, undefined in the padding."""
        if mask is None:
            mask = torch.ones_like(vectors[..., 0], dtype=torch.bool)
        elif mask.device.type == "cpu" and not torch.compiler.is_compiling():
            check_padding("attention_mask", mask)
        mirror = mirrored_places(mask)
        states = vectors
        traces.add_hidden(states)
        for layer in self.layers:
            states = layer(self.dropout(states), mirror)
            traces.add_hidden(states)
        return EncoderOutput(last_hidden_state=states, mask=mask)


class LastStates(nn.Module):
    """The last state of each direction: the forward one at the last word, the backward one at the first."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        """``[B, d]`` of ``states [B, n, d]`` and ``mask [B, n]``."""
        ahead, back = states.chunk(2, dim=-1)
        last = mirrored_places(mask)[:, :1]
        return torch.cat([at_positions(ahead, last)[:, 0], back[:, 0]], dim=-1), None


class WeightedMean(nn.Module):
    """A mean of all states; a word's weight is the softmax of w · tanh(state) (Zhou et al. 2016)."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.score = nn.Linear(d_model, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, d]`` and the weights ``[B, n]`` of ``states [B, n, d]`` and ``mask [B, n]``."""
        scores = self.score(states.tanh()).squeeze(-1)
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        weights = wide.masked_fill(~mask, float("-inf")).softmax(-1)
        return (weights[..., None] * states).sum(1).to(states.dtype), weights


class BiLstmForSequenceClassification(SequenceClassifier):
    """A BiLSTM; the vector of the sentence goes to one linear layer."""

    config_class = BiLstmConfig
    config: BiLstmConfig

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__(config)
        self.pooling: nn.Module = LastStates() if config.pooling == "last" else WeightedMean(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.add_head(BiLstmEncoder(config))

    def sentence(self, encoded: EncoderOutput) -> Tensor:
        """``[B, d]``; the attentions ``[B, 1, 1, n]`` are the weights of the mean, if there is a mean."""
        sentence, weights = self.pooling(encoded.last_hidden_state, encoded.mask)
        if weights is not None:
            encoded.attentions = (weights[:, None, None],)
        return self.dropout(sentence)
