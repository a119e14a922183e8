"""An LSTM decoder with attention to a memory and input feeding (Luong et al. 2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from treeformer.nn.attention import AttentionRecord, Record
from treeformer.nn.lstm_cell import LstmCell, LstmState, linear_with_biases


class DecoderStates(NamedTuple):
    """States of ``L`` layers after each of ``q`` tokens, of N targets."""

    hidden: Tensor  #: ``[N, L, q, d]``
    cell: Tensor  #: ``[N, L, q, d]``
    attentional: Tensor  #: ``[N, q, d]``, from which the next tokens are predicted


class LstmDecoder(nn.Module):
    """Layers of LSTMs whose last one attends to a memory by dot products.

    The attentional state tanh(W [state ; attended] + b) predicts the next token; the first layer reads it
    together with that token.

    Args:
        d_model: width of the vectors, of the states and of the memory.
        layers: number of LSTMs.
        dropout: between them.
    """

    def __init__(self, d_model: int, layers: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.cells = nn.ModuleList(
            LstmCell(d_model if layer else 2 * d_model, d_model) for layer in range(layers)
        )
        self.combine = nn.Linear(2 * d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def begin(self, state: LstmState) -> DecoderStates:
        """Initial states: all layers in ``state [N, d]``, with an attentional state of zeros."""
        hidden, cell = (part[:, None, None].expand(-1, len(self.cells), -1, -1) for part in state)
        return DecoderStates(hidden, cell, torch.zeros_like(hidden[:, 0]))

    def forward(
        self,
        vectors: Tensor,
        before: DecoderStates,
        memory: Tensor,
        bias: Tensor | None = None,
        *,
        record: Record = None,
    ) -> DecoderStates:
        """The states after each of the vectors.

        Args:
            vectors: ``[N, q, d]`` embedded target; ``N = B · beams``, those of one source in a row.
            before: earlier states; the last ones are those before the first vector.
            memory: ``[B, s, d]``.
            bias: ``[B, 1, s]``, added to the scores.
            record: a list that receives the attention weights, ``[B, 1, beams · q, s]``.
        """
        states = [
            LstmState(before.hidden[:, layer, -1], before.cell[:, layer, -1])
            for layer in range(len(self.cells))
        ]
        attentional = before.attentional[:, -1]
        steps, outputs, weights = [], [], []
        for vector in vectors.unbind(1):
            below = torch.cat([vector.to(attentional.dtype), attentional], dim=-1)
            states = self._climb(below, states)
            attentional, step_weights = self._attend(states[-1].hidden, memory, bias)
            steps.append(states)
            outputs.append(attentional)
            weights.append(step_weights)
        if record is not None:
            record.append(AttentionRecord(torch.stack(weights, dim=2).flatten(1, 2)[:, None]))
        hidden, cell = (
            torch.stack([torch.stack([state[part] for state in step], dim=1) for step in steps], dim=2)
            for part in (0, 1)
        )
        return DecoderStates(hidden, cell, torch.stack(outputs, dim=1))

    def _climb(self, below: Tensor, states: list[LstmState]) -> list[LstmState]:
        """The states of all layers after one more input ``[N, 2 d]`` of the first."""
        after = []
        for cell, state in zip(self.cells, states, strict=True):
            after.append(cell.step(cell.project(below), state))  # type: ignore[operator]
            below = self.dropout(after[-1].hidden)
        return after

    def _attend(self, state: Tensor, memory: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The attentional state ``[N, d]`` and the weights ``[B, beams, s]`` of ``state [N, d]``."""
        joined = state.view(len(memory), -1, state.shape[-1])  # all targets of one source in one row
        scores = (joined.to(memory.dtype) @ memory.mT).to(state.dtype)
        weights = (scores if bias is None else scores + bias).softmax(-1)
        attended = (weights.to(memory.dtype) @ memory).to(state.dtype)
        both = torch.cat([state, attended.view_as(state)], dim=-1)
        return linear_with_biases(self.combine, both, self.combine.bias).tanh(), weights
