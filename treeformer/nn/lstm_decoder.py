"""An LSTM that writes while it looks at a memory (Luong et al. 2015), with input feeding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from treeformer.nn.attention import AttentionRecord
from treeformer.nn.lstm_cell import LstmCell, LstmState, product


class DecoderStates(NamedTuple):
    """States of ``L`` layers after each of ``q`` tokens, of N targets."""

    hidden: Tensor  #: ``[N, L, q, d]``
    cell: Tensor  #: ``[N, L, q, d]``
    attentional: Tensor  #: ``[N, q, d]``, from which the next tokens are predicted


class LstmDecoder(nn.Module):
    """Layers of LSTMs whose last one attends to a memory by dot products.

    What it finds makes, with its own state, the attentional state tanh(W [state ; found] + b), which the
    first layer reads beside the next token.

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
        """Where all layers begin: in ``state [N, d]``, with an attentional state of zeros."""
        hidden, cell = (part[:, None, None].expand(-1, len(self.cells), -1, -1) for part in state)
        return DecoderStates(hidden, cell, torch.zeros_like(hidden[:, 0]))

    def forward(
        self,
        vectors: Tensor,
        before: DecoderStates,
        memory: Tensor,
        bias: Tensor | None = None,
        *,
        record: list[AttentionRecord] | None = None,
    ) -> DecoderStates:
        """The states after each of the vectors.

        Args:
            vectors: ``[N, q, d]`` embedded target; ``N = B · beams``, those of one source in a row.
            before: states of which the last are those before the first vector.
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
            attentional, own = self._attend(states[-1].hidden, memory, bias)
            steps.append(states)
            outputs.append(attentional)
            weights.append(own)
        if record is not None:
            record.append(AttentionRecord(torch.stack(weights, dim=2).flatten(1, 2)[:, None]))
        return DecoderStates(
            torch.stack([_layers([state.hidden for state in step]) for step in steps], dim=2),
            torch.stack([_layers([state.cell for state in step]) for step in steps], dim=2),
            torch.stack(outputs, dim=1),
        )

    def _climb(self, below: Tensor, states: list[LstmState]) -> list[LstmState]:
        """The states of all layers after one more input ``[N, 2 d]`` of the first."""
        after = []
        for cell, state in zip(self.cells, states, strict=True):
            after.append(cell.step(cell.project(below), state))  # type: ignore[operator]
            below = self.dropout(after[-1].hidden)
        return after

    def _attend(self, state: Tensor, memory: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The attentional state ``[N, d]`` and the weights ``[B, beams, s]`` of ``state [N, d]``."""
        beside = state.view(len(memory), -1, state.shape[-1])  # several targets of one source side by side
        scores = (beside.to(memory.dtype) @ memory.mT).to(state.dtype)
        weights = (scores if bias is None else scores + bias).softmax(-1)
        found = (weights.to(memory.dtype) @ memory).to(state.dtype)
        both = torch.cat([state, found.view_as(state)], dim=-1)
        return product(self.combine, both, self.combine.bias).tanh(), weights


def _layers(parts: list[Tensor]) -> Tensor:
    """``[N, L, d]`` of the ``[N, d]`` of each layer."""
    return torch.stack(parts, dim=1)
