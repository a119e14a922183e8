"""The BiLSTM classifier: two LSTMs read the words, one from each end."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from transformers.utils.generic import can_return_tuple

from treeformer.models.classification import SequenceClassifier, sentence_loss
from treeformer.models.configuration import SystemConfig
from treeformer.models.outputs import ClassificationOutput, EncoderOutput
from treeformer.models.pretrained import check_choice, check_ids, check_mask, check_sizes, required
from treeformer.nn import ScaledEmbedding

Pooling = Literal["last", "attention"]


class BiLstmConfig(SystemConfig):
    """Sizes of a BiLSTM.

    Args:
        vocab_size, num_labels: see `SystemConfig`.
        d_model: width of the states, half of it for each direction.
        embedding_dim: width of the word vectors, None for d_model.
        encoder_layers: each reads both directions of the one below.
        dropout: on word vectors, between layers and before the classifier.
        pooling: what stands for a sentence: ``last``, the last states of both directions, or ``attention``,
            a mean of all states with learnt weights.
    """

    model_type = "treeformer-bilstm"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "encoder_layers"}  # noqa: RUF012

    embedding_dim: int | None = None
    encoder_layers: int = 1
    pooling: Pooling = "last"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        check_choice(self, "pooling", get_args(Pooling))
        check_sizes(self, "encoder_layers", *(() if self.embedding_dim is None else ("embedding_dim",)))
        if self.d_model % 2:
            raise ValueError(f"d_model: expected an even number, half for each direction, got {self.d_model}")


class BiLstmLayer(nn.Module):
    """Two LSTMs over the same states, one from each end of every sentence.

    Padding follows the words, so the forward LSTM does not meet it before it is done; the backward one reads
    each sentence reversed within its own length. Packed sequences would do the same, but need the lengths on
    the CPU, for which a GPU waits and which a CUDA graph cannot hold.

    Args:
        width: of what it reads.
        d_model: of what it returns, half of it from each direction.
    """

    def __init__(self, width: int, d_model: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(width, d_model // 2, batch_first=True)
        self.backwards = nn.LSTM(width, d_model // 2, batch_first=True)

    def forward(self, states: Tensor, mirror: Tensor) -> Tensor:
        """``[B, n, d]`` of ``states [B, n, width]``; `mirrored_places` gives ``mirror [B, n]``."""
        ahead, _ = self.forwards(states)
        back, _ = self.backwards(_taken(states, mirror))
        return torch.cat([ahead, _taken(back, mirror)], dim=-1)


class BiLstmEncoder(nn.Module):
    """Embedding and layers of two LSTMs each."""

    main_input_name = "input_ids"

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__()
        width = config.d_model if config.embedding_dim is None else config.embedding_dim
        self.embedding = ScaledEmbedding(config.vocab_size, width, config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        widths = [width, *[config.d_model] * (config.encoder_layers - 1)]
        self.layers = nn.ModuleList(BiLstmLayer(width, config.d_model) for width in widths)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool | None = None,
    ) -> EncoderOutput:
        """States ``[B, n, d]`` of ``input_ids [B, n]``; what stands in the padding has no meaning."""
        input_ids = required("input_ids", input_ids)
        check_ids("input_ids", input_ids, self.embedding.num_embeddings)
        mirror = mirrored_places(_mask(input_ids, attention_mask))
        states = self.embedding(input_ids)
        hidden = [states]
        for layer in self.layers:
            states = layer(self.dropout(states), mirror)
            hidden.append(states)
        return EncoderOutput(
            last_hidden_state=states, hidden_states=tuple(hidden) if output_hidden_states else None
        )


class LastStates(nn.Module):
    """The last state of each direction: the forward one at the last word, the backward one at the first."""

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, None]:
        """``[B, d]`` of ``states [B, n, d]`` and ``mask [B, n]``."""
        ahead, back = states.chunk(2, dim=-1)
        last = mirrored_places(mask)[:, :1]
        return torch.cat([_taken(ahead, last)[:, 0], back[:, 0]], dim=-1), None


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
    """A BiLSTM; what stands for the sentence goes to one linear layer."""

    config_class = BiLstmConfig
    config: BiLstmConfig

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__(config)
        self.pooling: nn.Module = LastStates() if config.pooling == "last" else WeightedMean(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.add_head(BiLstmEncoder(config))

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> ClassificationOutput:
        """Logits ``[B, labels]``, and the loss if ``labels [B]`` are given.

        The only attentions are the weights of the mean, ``[B, 1, 1, n]``; there are none for ``last``.
        """
        encoded = self.encoder(input_ids, attention_mask, output_hidden_states)
        sentence, weights = self.pooling(encoded.last_hidden_state, _mask(input_ids, attention_mask))
        if output_attentions and weights is not None:
            encoded.attentions = (weights[:, None, None],)
        logits = self.classifier(self.dropout(sentence))
        return self.output(encoded, logits, sentence_loss(logits, labels))


def mirrored_places(mask: Tensor) -> Tensor:
    """``[B, n]``: from where a sentence is read backwards; padding stays where it is.

    >>> mirrored_places(torch.tensor([[True, True, True, False]]))
    tensor([[2, 1, 0, 3]])
    """
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)


def _taken(states: Tensor, places: Tensor) -> Tensor:
    """``[B, p, d]``: the states ``[B, n, d]`` at these ``places [B, p]``."""
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))


def _mask(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """``[B, n]``, True for words. On the CPU it is checked; on a GPU that would wait for the device."""
    if attention_mask is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    check_mask(input_ids, attention_mask)
    mask = attention_mask.bool()
    if mask.device.type == "cpu" and (mask[:, 1:] & ~mask[:, :-1]).any():
        raise ValueError("attention_mask: expected words first, then padding, got words after padding")
    return mask
