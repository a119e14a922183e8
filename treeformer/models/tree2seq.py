"""Tree2Seq of "Tree-to-Sequence Attentional Neural Machine Translation" (ACL 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor, nn

from treeformer.models.configuration import SystemConfig
from treeformer.models.encoding import TreeEncoder, at_last
from treeformer.models.generation import Memory, SequenceTranslator, Target
from treeformer.models.outputs import EncoderOutput
from treeformer.nn import ScaledEmbedding, Traces
from treeformer.nn.lstm_cell import LstmCell, LstmState, at_least_float32
from treeformer.nn.lstm_decoder import DecoderStates, LstmDecoder
from treeformer.nn.tree_lstm import Binary, Composition, TreeLstm
from treeformer.ops import TreeBatch


class Tree2SeqConfig(SystemConfig):
    """Sizes of a Tree2Seq model.

    Args:
        vocab_size: see `SystemConfig`.
        d_model: width of word vectors and states.
        decoder_layers: LSTMs of the decoder; the paper has one.
        composition: how states of phrases are computed. The paper's trees and its composition are binary;
            trees of parsers are not, so ``child-sum`` is the default.
        dropout: on word vectors, between layers of the decoder, and on the states that predict words.
    """

    model_type = "treeformer-tree2seq"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "decoder_layers"}  # noqa: RUF012

    decoder_layers: int = 1
    composition: Composition = "child-sum"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_choice("composition", get_args(Composition))
        self.check_sizes("decoder_layers")


@dataclass
class Tree2SeqEncoderOutput(EncoderOutput):
    """The encoder's output, and the initial state ``[B, d]`` of the decoder."""

    start_hidden: Tensor = None  # type: ignore[assignment]  # outputs have no fields without default
    start_cell: Tensor = None  # type: ignore[assignment]


class Tree2SeqEncoder(TreeEncoder):
    """An LSTM over the words, and a Tree-LSTM over its states. ``node_ids`` are ignored.

    The decoder starts in the state of an additional node over the root and the last word; this node
    has separate parameters.
    """

    def __init__(self, config: Tree2SeqConfig) -> None:
        super().__init__(config.vocab_size)
        self.embedding = ScaledEmbedding(config.vocab_size, config.d_model, config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        self.words = LstmCell(config.d_model, config.d_model)
        self.phrases = TreeLstm(config.d_model, config.composition)
        self.start = Binary(config.d_model)

    def encode(
        self, vectors: Tensor, node_ids: Tensor | None, batch: TreeBatch, traces: Traces
    ) -> Tree2SeqEncoderOutput:
        vectors = self.dropout(vectors)
        padded = ~batch.leaf_mask[..., None]
        words = self.words(vectors.masked_fill(padded, 0))
        phrases = self.phrases(words, batch)
        ends = [
            LstmState(*(at_last(part, mask) for part in state))
            for state, mask in ((phrases, batch.node_mask), (words, batch.leaf_mask))
        ]
        start = self.start.update(torch.cat([self.start.message(end) for end in ends], dim=-1))
        states = torch.cat([words.hidden.masked_fill(padded, 0), phrases.hidden], dim=1).to(vectors.dtype)
        traces.add_hidden(states)
        return Tree2SeqEncoderOutput(
            last_hidden_state=states,
            mask=batch.mask,
            batch=batch,
            start_hidden=start.hidden,
            start_cell=start.cell,
        )


class Tree2SeqForConditionalGeneration(SequenceTranslator):
    """A translator whose LSTM decoder attends to the words and phrases of the source together."""

    config_class = Tree2SeqConfig
    config: Tree2SeqConfig
    encoder: Tree2SeqEncoder

    def __init__(self, config: Tree2SeqConfig) -> None:
        super().__init__(config)
        self.encoder = Tree2SeqEncoder(config)
        self.decoder = LstmDecoder(config.d_model, config.decoder_layers, dropout=config.dropout)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def memory(self, encoded: Tree2SeqEncoderOutput) -> Memory:
        states = encoded.last_hidden_state[:, None]
        return Memory([(states, states)], encoded.mask, start=(encoded.start_hidden, encoded.start_cell))

    def target_states(self, target: Target, memory: Memory, traces: Traces) -> Tensor:
        target = target.unmasked()
        vectors = self.dropout(self.get_input_embeddings()(target.ids))
        source, _ = memory.keys_values[0]
        bias = memory.bias(at_least_float32(vectors).dtype)
        after = self.decoder(
            vectors,
            self._states_before(target, memory),
            source[:, 0],
            None if bias is None else bias[:, 0],
            record=traces.cross_attention,
        )
        if target.remember is not None:
            # as keys and values of one layer of the cache, with layers in the place of heads
            keys = torch.cat([after.hidden, after.attentional[:, None]], dim=1)
            target.remember(keys, after.cell, layer_idx=0)
        states = after.attentional.to(vectors.dtype)
        traces.add_hidden(vectors, *after.hidden.unbind(1), states)
        return self.dropout(states)

    def _states_before(self, target: Target, memory: Memory) -> DecoderStates:
        """States up to the target: those in the cache, or the initial one."""
        hidden, cell = memory.start
        if target.past == 0 or target.remember is None:
            beams = len(target.ids) // len(hidden)
            return self.decoder.begin(
                LstmState(hidden.repeat_interleave(beams, 0), cell.repeat_interleave(beams, 0))
            )
        N, L, d = len(target.ids), self.config.decoder_layers, self.config.d_model
        nothing = hidden.new_empty(N, L + 1, 0, d), cell.new_empty(N, L, 0, d)
        keys, values = target.remember(*nothing, layer_idx=0)
        return DecoderStates(keys[:, :L], values, keys[:, L])
