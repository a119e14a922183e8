"""Tree2Seq of "Tree-to-Sequence Attentional Neural Machine Translation" (ACL 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor, nn

from treeformer.models.configuration import SystemConfig
from treeformer.models.generation import Memory, Source, Target, Traces
from treeformer.models.outputs import EncoderOutput
from treeformer.models.pretrained import check_choice, check_ids, check_sizes, required
from treeformer.models.tree_reading import TreeEncoder, TreeTranslator, at_last
from treeformer.nn import ScaledEmbedding
from treeformer.nn.lstm_cell import LstmCell, LstmState, wide
from treeformer.nn.lstm_decoder import DecoderStates, LstmDecoder
from treeformer.nn.tree_lstm import Binary, Composition, TreeLstm
from treeformer.ops import TreeBatch


class Tree2SeqConfig(SystemConfig):
    """Sizes of a Tree2Seq model.

    Args:
        vocab_size: see `SystemConfig`.
        d_model: width of word vectors and states.
        decoder_layers: LSTMs of the decoder; the paper has one.
        composition: how states of phrases are made. The paper's trees are binary and so is its composition;
            trees of parsers are not, so ``child-sum`` is the default.
        dropout: on word vectors, between layers of the decoder, and on the states that predict words.
    """

    model_type = "treeformer-tree2seq"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "decoder_layers"}  # noqa: RUF012

    decoder_layers: int = 1
    composition: Composition = "child-sum"

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        check_choice(self, "composition", get_args(Composition))
        check_sizes(self, "decoder_layers")


@dataclass
class Tree2SeqEncoderOutput(EncoderOutput):
    """What the encoder returns, and where the decoder begins.

    start_hidden, start_cell: ``[B, d]``.
    """

    start_hidden: Tensor = None  # type: ignore[assignment]  # outputs have no fields without default
    start_cell: Tensor = None  # type: ignore[assignment]


class Tree2SeqEncoder(TreeEncoder):
    """An LSTM over the words, and a Tree-LSTM over its states. ``node_ids`` are not read.

    The decoder begins in the state of one more node, over the root and the last word, with own parameters.
    """

    def __init__(self, config: Tree2SeqConfig) -> None:
        super().__init__()
        self.embedding = ScaledEmbedding(config.vocab_size, config.d_model, config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        self.words = LstmCell(config.d_model, config.d_model)
        self.phrases = TreeLstm(config.d_model, config.composition)
        self.start = Binary(config.d_model)

    def encode(
        self,
        input_ids: Tensor,
        node_ids: Tensor | None,
        batch: TreeBatch,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> Tree2SeqEncoderOutput:
        """States ``[B, n + m, d]``, and the state in which the decoder begins. There are no attentions."""
        input_ids = required("input_ids", input_ids)
        check_ids("input_ids", input_ids, self.embedding.num_embeddings)
        vectors = self.dropout(self.embedding(input_ids))
        padded = ~batch.leaf_mask[..., None]
        words = self.words(vectors.masked_fill(padded, 0))
        phrases = self.phrases(words, batch)
        ends = [
            LstmState(*(at_last(part, mask) for part in state))
            for state, mask in ((phrases, batch.node_mask), (words, batch.leaf_mask))
        ]
        start = self.start.update(torch.cat([self.start.message(end) for end in ends], dim=-1))
        states = torch.cat([words.hidden.masked_fill(padded, 0), phrases.hidden], dim=1).to(vectors.dtype)
        return Tree2SeqEncoderOutput(
            last_hidden_state=states,
            hidden_states=(states,) if output_hidden_states else None,
            start_hidden=start.hidden,
            start_cell=start.cell,
        )


class Tree2SeqForConditionalGeneration(TreeTranslator):
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

    def memory(self, encoded: Tree2SeqEncoderOutput, context: TreeBatch) -> Memory:
        states = encoded.last_hidden_state[:, None]
        return Memory([(states, states)], context.mask, (encoded.start_hidden, encoded.start_cell))

    def target_states(self, target: Target, source: Source, traces: Traces) -> Tensor:
        target = target.unmasked()
        vectors = self.dropout(self.get_input_embeddings()(target.ids))
        memory, _ = source.keys_values[0]
        bias = source.bias(wide(vectors).dtype)
        found = self.decoder(
            vectors,
            self._before(target, source),
            memory[:, 0],
            None if bias is None else bias[:, 0],
            record=traces.cross,
        )
        if target.remember is not None:
            target.remember(*_kept(found), layer_idx=0)
        states = found.attentional.to(vectors.dtype)
        if traces.hidden is not None:
            traces.hidden += [vectors, *found.hidden.unbind(1), states]
        return self.dropout(states)

    def _before(self, target: Target, source: Source) -> DecoderStates:
        """The states of which the last are those before this target: where it begins, or what is kept."""
        hidden, cell = source.start
        if target.past == 0 or target.remember is None:
            beams = len(target.ids) // len(hidden)
            return self.decoder.begin(
                LstmState(hidden.repeat_interleave(beams, 0), cell.repeat_interleave(beams, 0))
            )
        N, L, d = len(target.ids), self.config.decoder_layers, self.config.d_model
        nothing = hidden.new_empty(N, L + 1, 0, d), cell.new_empty(N, L, 0, d)
        keys, values = target.remember(*nothing, layer_idx=0)
        return DecoderStates(keys[:, :L], values, keys[:, L])


def _kept(states: DecoderStates) -> tuple[Tensor, Tensor]:
    """States as the keys and values of one layer of a cache, with layers in the place of heads.

    Keys ``[N, L + 1, q, d]`` are hidden states and the attentional one, values ``[N, L, q, d]`` the cells.
    """
    return torch.cat([states.hidden, states.attentional[:, None]], dim=1), states.cell
