"""Tree-LSTMs (Tai et al. 2015): states of phrases from the states of their children, level by level."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from treeformer.nn.lstm_cell import (
    LstmState,
    at_least_float32,
    init_gates,
    linear_with_biases,
    state_from_gates,
)
from treeformer.nn.recurrence import Climber, at_places, climb, climb_in_order, flat_leaves, steps_of
from treeformer.ops import TreeBatch
from treeformer.ops.levels import child_counts

Composition = Literal["child-sum", "binary"]


class WordCell(nn.Module):
    """The states of leaves: a word has no children, so its cell depends on its vector alone."""

    def __init__(self, inputs: int, d_model: int) -> None:
        super().__init__()
        self.inputs, self.d_model = inputs, d_model
        self.gates = nn.Linear(inputs, 3 * d_model, bias=False)
        self.bias = nn.Parameter(torch.empty(3 * d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init_gates(self.gates, self.inputs, self.d_model)
        nn.init.zeros_(self.bias)

    def forward(self, vectors: Tensor) -> LstmState:
        """States ``[B, n, d]`` of words with ``vectors [B, n, inputs]``."""
        return state_from_gates(linear_with_biases(self.gates, at_least_float32(vectors), self.bias))


class ChildSum(nn.Module):
    """A node sees the sum of its children's states, in any number and order.

    Phrases have no vectors, so the forget gate of a child depends on that child alone. The child can
    therefore send what is kept of its cell, and the node adds up the messages.
    """

    slots = 1  #: inbox rows per node

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.gates = nn.Linear(d_model, 3 * d_model, bias=False)
        self.forget = nn.Linear(d_model, d_model, bias=False)
        self.bias = nn.Parameter(torch.empty(3 * d_model))
        self.forget_bias = nn.Parameter(torch.empty(d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear in (self.gates, self.forget):
            init_gates(linear, self.d_model, self.d_model)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.forget_bias)

    def message(self, child: LstmState) -> Tensor:
        """``[..., 2 d]``: the message of a child ``[..., d]`` to its parent."""
        kept = linear_with_biases(self.forget, child.hidden, self.forget_bias).sigmoid() * child.cell
        return torch.cat([child.hidden, kept], dim=-1)

    def update(self, inbox: Tensor) -> LstmState:
        """States ``[K, d]`` of nodes that received ``inbox [K, 2 d]``."""
        hidden, kept = inbox.chunk(2, dim=-1)
        return state_from_gates(linear_with_biases(self.gates, hidden, self.bias), kept)


class Binary(nn.Module):
    """The N-ary Tree-LSTM with N = 2: separate weights for the first and second child.

    Every gate reads both children, and there is a forget gate for each. A missing second child counts as
    zeros.
    """

    slots = 2

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.gates = nn.Linear(2 * d_model, 5 * d_model, bias=False)
        self.bias = nn.Parameter(torch.empty(3 * d_model))
        self.forget_bias = nn.Parameter(torch.empty(2 * d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init_gates(self.gates, self.d_model, self.d_model)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.forget_bias)

    def message(self, child: LstmState) -> Tensor:
        """``[..., 2 d]``: the message of a child ``[..., d]`` to its parent."""
        return torch.cat(child, dim=-1)

    def update(self, inbox: Tensor) -> LstmState:
        """States ``[K, d]`` of nodes that received ``inbox [K, 4 d]``: of the first child, then the other."""
        d = self.d_model
        first, first_cell, other, other_cell = inbox.split(d, dim=-1)
        gates = linear_with_biases(self.gates, torch.cat([first, other], dim=-1), self.bias, self.forget_bias)
        gates, forget_first, forget_other = gates.split([3 * d, d, d], dim=-1)
        return state_from_gates(
            gates, forget_first.sigmoid() * first_cell + forget_other.sigmoid() * other_cell
        )


class TreeLstm(Climber):
    """States of the nodes from those of the leaves, level by level; see `climb`.

    Args:
        d_model: width of the states.
        composition: ``child-sum``, or ``binary`` for trees with at most two children per node. On the CPU
            other trees are refused. On a GPU a check would wait for the device: there all children after the
            first are added up, and the caller must check the trees (training does).
    """

    def __init__(self, d_model: int, composition: Composition = "child-sum") -> None:
        super().__init__()
        if composition not in get_args(Composition):
            raise ValueError(
                f"composition: expected one of {', '.join(get_args(Composition))}, got {composition!r}"
            )
        self.composition = ChildSum(d_model) if composition == "child-sum" else Binary(d_model)

    def forward(self, leaves: LstmState, batch: TreeBatch) -> LstmState:
        """States ``[B, m, d]`` of nodes over ``leaves [B, n, d]``; zeros in the padding."""
        composition = self.composition
        words = LstmState(*(flat_leaves(part, batch) for part in leaves))
        if torch.compiler.is_compiling():
            return LstmState(*climb_in_order(composition, composition.message(words), batch))
        if composition.slots == 2 and batch.device.type == "cpu":
            _check_binary(batch)
        states = climb(composition, composition.message(words), batch)
        places = batch.shared(steps_of, composition.slots).places
        return LstmState(*(at_places(part, places, batch.node_mask) for part in zip(*states, strict=True)))


def _check_binary(batch: TreeBatch) -> None:
    """Refuse nodes with more than two children."""
    counts = batch.shared(child_counts)
    if (counts > 2).any():
        position = (counts > 2).nonzero()[0].tolist()
        raise ValueError(
            "node_spans: expected binarised trees for the binary composition, at most 2 children per node, "
            f"got {int(counts[tuple(position)])} at {position}; child-sum takes any number"
        )
