"""The encoding half of every system: inputs are checked, then `encode` turns them into states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.utils.generic import can_return_tuple

from treeformer.models.configuration import SystemConfig
from treeformer.models.outputs import EncoderOutput, with_traces
from treeformer.models.pretrained import check_ids, check_mask, check_padding
from treeformer.models.pretrained_words import PretrainedWords, pretrained_words
from treeformer.nn import ScaledEmbedding, Traces
from treeformer.ops import TreeBatch


class WordEncoder(nn.Module):
    """An encoder of token sequences. A system implements `encode`."""

    main_input_name = "input_ids"  # what `generate` passes to an encoder
    embedding: nn.Embedding

    def __init__(self) -> None:
        super().__init__()
        self.pretrained: PretrainedWords | None = None

    @abstractmethod
    def encode(self, vectors: Tensor, mask: Tensor | None, traces: Traces) -> EncoderOutput:
        """States ``[B, n, d]`` with their mask.

        Args:
            vectors: ``[B, n, d]`` vectors of the tokens, see `input_vectors`.
            mask: ``[B, n]``, True for tokens, False for padding; None if there is no padding.
            traces: lists for attention weights and hidden states.
        """

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        *,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **words: Tensor,
    ) -> EncoderOutput:
        """States of ``input_ids [B, n]``; ``attention_mask [B, n]`` is 1 for tokens, 0 for padding.

        ``inputs_embeds [B, n, d]`` are vectors to use instead of those of ``input_ids``. ``words`` are the
        inputs of `PretrainedWords`, if the model reads words through an encoder.
        """
        vectors = input_vectors(self, input_ids, inputs_embeds, words)
        mask = None
        if attention_mask is not None:
            check_mask(vectors, attention_mask)
            mask = attention_mask.bool()
        traces = Traces(output_attentions, output_hidden_states)
        return with_traces(self.encode(vectors, mask, traces), traces)


class TreeEncoder(nn.Module):
    """An encoder of trees. A system implements `encode`."""

    main_input_name = "input_ids"  # what `generate` passes to an encoder
    embedding: nn.Embedding

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.pretrained: PretrainedWords | None = None

    @abstractmethod
    def encode(
        self, vectors: Tensor, node_ids: Tensor | None, batch: TreeBatch, traces: Traces
    ) -> EncoderOutput:
        """States ``[B, n + m, d]`` of leaves and nodes, with their batch of trees.

        ``vectors [B, n, d]`` are those of the leaves' tokens, see `input_vectors`.
        """

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        *,
        node_spans: Tensor,
        node_mask: Tensor,
        node_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **words: Tensor,
    ) -> EncoderOutput:
        """States of leaves and nodes. The inputs are checked on the CPU; a GPU would have to wait.

        Args:
            input_ids, attention_mask: ``[B, n]`` tokens of the leaves, padded on the right.
            node_spans: ``[B, m, 2]`` half-open spans of the nodes.
            node_ids, node_mask: ``[B, m]`` labels of the nodes in post-order, from 0, padded on the right.
            inputs_embeds: ``[B, n, d]`` vectors to use instead of those of ``input_ids``.
            words: the inputs of `PretrainedWords`, if the model reads words through an encoder.
        """
        vectors = input_vectors(self, input_ids, inputs_embeds, words)
        if attention_mask is None:
            attention_mask = torch.ones(vectors.shape[:2], dtype=torch.long, device=vectors.device)
        mask = attention_mask.bool()
        checked = mask.device.type == "cpu" and not torch.compiler.is_compiling()
        if checked:
            check_padding("attention_mask", mask)
        batch = TreeBatch.from_spans(
            node_spans, node_mask, mask.sum(1), width=mask.shape[1], validate=checked
        )
        traces = Traces(output_attentions, output_hidden_states)
        return with_traces(self.encode(vectors, node_ids, batch, traces), traces)


def input_vectors(
    encoder: WordEncoder | TreeEncoder,
    input_ids: Tensor | None,
    inputs_embeds: Tensor | None,
    words: Mapping[str, Tensor],
) -> Tensor:
    """``[B, n, d]``: vectors from the caller, from a pretrained encoder, or from the table of tokens."""
    if (input_ids is None) == (inputs_embeds is None):
        given = "neither" if input_ids is None else "both"
        raise ValueError(f"input_ids, inputs_embeds: expected one of the two, got {given}")
    if words and (encoder.pretrained is None or input_ids is None):
        raise ValueError(f"{', '.join(words)}: this model has no encoder, it reads input_ids")
    if input_ids is None:
        return _checked_vectors(inputs_embeds, encoder.embedding)
    if encoder.pretrained is not None:
        return encoder.pretrained(input_ids.shape[1], **words)
    size = encoder.vocab_size if isinstance(encoder, TreeEncoder) else encoder.embedding.num_embeddings
    check_ids("input_ids", input_ids, size)
    return encoder.embedding(input_ids)


def _checked_vectors(vectors: Any, embedding: nn.Embedding | None) -> Tensor:
    """The vectors of the caller, if they are as wide as those of the table."""
    width = None if embedding is None else embedding.embedding_dim
    if vectors.ndim != 3 or (width is not None and vectors.shape[2] != width):
        raise ValueError(
            f"inputs_embeds: expected a shape [batch, words, {width or 'width'}], got {list(vectors.shape)}"
        )
    return vectors


def word_vectors(config: SystemConfig, width: int | None) -> tuple[Any, PretrainedWords | None]:
    """A table of word vectors, or None and the encoder of the config that gives them.

    Without a ``width``, vectors of an encoder are as wide as its states, and those of a table ``d_model``.
    """
    pretrained = pretrained_words(config, width)
    if pretrained is not None:
        return None, pretrained
    return ScaledEmbedding(config.vocab_size, width or config.d_model, config.pad_token_id), None


def at_last(values: Tensor, mask: Tensor) -> Tensor:
    """``[B, d]``: of ``values [B, s, d]`` the last ones before the padding, by ``mask [B, s]``.

    For nodes in post-order that is the root, for leaves the last word.
    """
    return values[torch.arange(mask.shape[0], device=mask.device), mask.sum(1) - 1]
