"""LSTM gate arithmetic shared by `TreeLstm` and Tree2Seq, and a sequential cell that returns all states."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LstmState(NamedTuple):
    """The state of an LSTM at one position."""

    hidden: Tensor  #: ``[..., d]``
    cell: Tensor  #: ``[..., d]``, in float32 at least


def at_least_float32(tensor: Tensor) -> Tensor:
    """The tensor in float32 at least, because long sums must not be rounded coarsely."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def linear_with_biases(linear: nn.Linear, states: Tensor, *biases: Tensor) -> Tensor:
    """``states @ linear.weight.T`` plus the concatenated ``biases``; ``linear.bias`` is ignored.

    The product is computed in the dtype of the weights or of autocast and returned in that of states.
    """
    bias = None
    if biases:
        bias = torch.cat(biases) if len(biases) > 1 else biases[0]
    return F.linear(states.to(linear.weight.dtype), linear.weight, bias).to(states.dtype)


def state_from_gates(gates: Tensor, kept: Tensor | None = None) -> LstmState:
    """The state from ``gates [..., 3 d]`` for input, output and update, and the kept part of earlier cells.

    ``kept [..., d]`` is the sum of earlier cells, each times its forget gate.
    """
    input_gate, output_gate, update = gates.chunk(3, dim=-1)
    cell = input_gate.sigmoid() * update.tanh()
    if kept is not None:
        cell = cell + kept
    return LstmState(output_gate.sigmoid() * cell.tanh(), cell)


class LstmCell(nn.Module):
    """The cell of a sequential LSTM.

    Biases are parameters of the cell itself, here and in `treeformer.nn.tree_lstm`: Hugging Face's
    ``_init_weights`` does not initialise modules that have no direct parameters.
    """

    def __init__(self, inputs: int, d_model: int) -> None:
        super().__init__()
        self.inputs, self.d_model = inputs, d_model
        self.input = nn.Linear(inputs, 4 * d_model, bias=False)
        self.recurrent = nn.Linear(d_model, 4 * d_model, bias=False)
        self.bias = nn.Parameter(torch.empty(3 * d_model))
        self.forget_bias = nn.Parameter(torch.empty(d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init_gates(self.input, self.inputs, self.d_model)
        init_gates(self.recurrent, self.d_model, self.d_model)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.forget_bias)

    def project(self, vectors: Tensor) -> Tensor:
        """``[..., 4 d]``: the contribution of ``vectors [..., inputs]`` to the gate pre-activations.

        The gates are input, output, update and forget.
        """
        return linear_with_biases(self.input, vectors, self.bias, self.forget_bias)

    def step(self, projected: Tensor, before: LstmState) -> LstmState:
        """The state ``[B, d]`` after one more vector, given as ``projected [B, 4 d]``."""
        gates = projected + linear_with_biases(self.recurrent, before.hidden)
        gates, forget = gates.split([3 * self.d_model, self.d_model], dim=-1)
        return state_from_gates(gates, forget.sigmoid() * before.cell)

    def forward(self, vectors: Tensor) -> LstmState:
        """The states ``[B, s, d]`` after each of ``vectors [B, s, inputs]``, read from left to right.

        No state depends on later vectors, so padding on the right changes nothing. (`torch.nn.LSTM` does not
        return the cells of all positions, which a Tree-LSTM over the words needs.)
        """
        projected = self.project(at_least_float32(vectors))
        nothing = projected.new_zeros(len(vectors), self.d_model)
        states = [LstmState(nothing, nothing)]
        for position in projected.unbind(1):
            states.append(self.step(position, states[-1]))
        hidden, cell = zip(*states[1:], strict=True)
        return LstmState(torch.stack(hidden, dim=1), torch.stack(cell, dim=1))


def init_gates(linear: nn.Linear, inputs: int, d_model: int) -> None:
    """Initialise each of the stacked matrices ``[d_model, inputs]`` with Xavier uniform."""
    bound = math.sqrt(6 / (inputs + d_model))
    nn.init.uniform_(linear.weight, -bound, bound)
