"""Tree-LSTMs (Tai et al. 2015): states of phrases from those of their parts, one height after another."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from treeformer.nn.lstm_cell import LstmState, activated, product, start_gates, wide
from treeformer.ops import TreeBatch
from treeformer.ops.levels import (
    child_counts,
    first_leaves,
    first_nodes,
    leaf_parents,
    levels,
    node_parents,
)

Composition = Literal["child-sum", "binary"]


class WordCell(nn.Module):
    """The states of leaves: a word has no children, so its cell is what enters from its vector."""

    def __init__(self, inputs: int, d_model: int) -> None:
        super().__init__()
        self.inputs, self.d_model = inputs, d_model
        self.gates = nn.Linear(inputs, 3 * d_model, bias=False)
        self.bias = nn.Parameter(torch.empty(3 * d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        start_gates(self.gates, self.inputs, self.d_model)
        nn.init.zeros_(self.bias)

    def forward(self, vectors: Tensor) -> LstmState:
        """States ``[B, n, d]`` of words with ``vectors [B, n, inputs]``."""
        return activated(product(self.gates, wide(vectors), self.bias))


class ChildSum(nn.Module):
    """A node sees the sum of its children's states, of any number, in any order.

    A phrase has no vector of its own, so the forget gate of a child depends on that child alone. The child
    can therefore send what is kept of its cell, and the node adds up what it receives.
    """

    slots = 1  #: how many sums a node receives

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
            start_gates(linear, self.d_model, self.d_model)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.forget_bias)

    def message(self, child: LstmState) -> Tensor:
        """``[..., 2 d]`` what a child ``[..., d]`` sends up."""
        kept = product(self.forget, child.hidden, self.forget_bias).sigmoid() * child.cell
        return torch.cat([child.hidden, kept], dim=-1)

    def update(self, inbox: Tensor) -> LstmState:
        """States ``[K, d]`` of nodes that received ``inbox [K, 2 d]``."""
        hidden, kept = inbox.chunk(2, dim=-1)
        return activated(product(self.gates, hidden, self.bias), kept)


class Binary(nn.Module):
    """The N-ary Tree-LSTM with N = 2: a node tells its first child from the other, each has its own matrices.

    Every gate looks at both children, and each child has its own forget gate. A missing second child counts
    as zeros.
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
        start_gates(self.gates, self.d_model, self.d_model)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.forget_bias)

    def message(self, child: LstmState) -> Tensor:
        """``[..., 2 d]`` what a child ``[..., d]`` sends up."""
        return torch.cat(child, dim=-1)

    def update(self, inbox: Tensor) -> LstmState:
        """States ``[K, d]`` of nodes that received ``inbox [K, 4 d]``: of the first child, then the other."""
        d = self.d_model
        first, first_cell, other, other_cell = inbox.split(d, dim=-1)
        gates = product(self.gates, torch.cat([first, other], dim=-1), self.bias, self.forget_bias)
        gates, forget_first, forget_other = gates.split([3 * d, d, d], dim=-1)
        return activated(gates, forget_first.sigmoid() * first_cell + forget_other.sigmoid() * other_cell)


class TreeLstm(nn.Module):
    """States of the nodes from those of the leaves.

    Leaves and nodes send messages to their parents as soon as they have a state; nodes of one height read
    what they received, over all trees of a batch in one product. So there are as many steps as the highest
    tree has levels.

    Args:
        d_model: width of the states.
        composition: ``child-sum``, or ``binary`` for trees with two children a node at most. On the CPU other
            trees are refused; on a GPU, where a check would wait for the device, all children after the first
            are added up.
    """

    def __init__(self, d_model: int, composition: Composition = "child-sum") -> None:
        super().__init__()
        if composition not in get_args(Composition):
            raise ValueError(
                f"composition: expected one of {', '.join(get_args(Composition))}, got {composition!r}"
            )
        self.composition = ChildSum(d_model) if composition == "child-sum" else Binary(d_model)

    def forward(self, leaves: LstmState, batch: TreeBatch) -> LstmState:
        """States ``[B, m, d]`` of nodes over ``leaves [B, n, d]``; zeros where padded, whatever is there."""
        composition = self.composition
        if composition.slots == 2 and batch.device.type == "cpu":
            _check_binary(batch)
        steps = batch.shared(_steps, composition.slots)
        padded = ~batch.leaf_mask[..., None]
        leaves = LstmState(*(wide(part).masked_fill(padded, 0).flatten(0, 1) for part in leaves))
        messages = composition.message(leaves)
        # changed in place: no one needs what it was before, neither forward nor backward
        inbox = messages.new_zeros(steps.rows, messages.shape[-1])
        inbox.index_add_(0, steps.leaf_rows, messages)
        found = []
        for nodes, rows in zip(steps.nodes, steps.node_rows, strict=True):
            state = composition.update(
                inbox.view(-1, composition.slots * inbox.shape[1]).index_select(0, nodes)
            )
            inbox.index_add_(0, rows, composition.message(state))
            found.append(state)
        hidden, cell = (torch.cat(parts) for parts in zip(*found, strict=True))
        return LstmState(_in_place(hidden, steps.places, batch), _in_place(cell, steps.places, batch))


class _Steps(NamedTuple):
    """Who reads and writes which rows of the inbox.

    There are ``slots`` rows for each node, then as many that stay zero, read by those who are not there, then
    some that nobody reads, for those without parent: several, since a GPU adds slowly to one.
    """

    rows: int
    nodes: tuple[Tensor, ...]  #: of each level, ``[K]`` numbers of nodes
    leaf_rows: Tensor  #: ``[B · n]`` rows to which leaves send
    node_rows: tuple[Tensor, ...]  #: of each level, ``[K]`` rows to which its nodes send
    places: Tensor  #: ``[B, m]`` see `Levels`


def _steps(batch: TreeBatch, slots: int) -> _Steps:
    """What the levels of a batch read and write."""
    B, m = len(batch), batch.m
    tree = torch.arange(B, device=batch.device)[:, None]
    unread = B * m + 1 + tree  # one for each tree
    later = slots - 1  # the slot of all children but the first
    above = batch.shared(leaf_parents)
    leaf_rows = torch.where(above < m, tree * m + above, unread) * slots
    leaf_rows = leaf_rows + later * ~batch.shared(first_leaves)
    above = batch.shared(node_parents)
    itself = above == torch.arange(m, device=batch.device)
    node_rows = torch.where(itself, unread, tree * m + above) * slots
    node_rows = (node_rows + later * ~batch.shared(first_nodes)).flatten()
    nodes, places = batch.shared(levels)
    numbers = torch.cat(nodes)
    spread = unread.flatten()[torch.arange(len(numbers), device=batch.device) % B] * slots
    sent = torch.where(numbers < B * m, node_rows[numbers.clamp(max=B * m - 1)], spread)
    return _Steps(
        rows=(B * m + 1 + B) * slots,
        nodes=nodes,
        leaf_rows=leaf_rows.flatten(),
        node_rows=sent.split([len(own) for own in nodes]),
        places=places,
    )


def _in_place(found: Tensor, places: Tensor, batch: TreeBatch) -> Tensor:
    """``found [places, d]`` as ``[B, m, d]``, zeros where padded."""
    nodes = found.index_select(0, places.flatten()).view(*places.shape, -1)
    return nodes.masked_fill(~batch.node_mask[..., None], 0)


def _check_binary(batch: TreeBatch) -> None:
    """Refuse nodes with more than two children."""
    counts = batch.shared(child_counts)
    if (counts > 2).any():
        position = (counts > 2).nonzero()[0].tolist()
        raise ValueError(
            "node_spans: expected binarised trees for the binary composition, at most 2 children a node, "
            f"got {int(counts[tuple(position)])} at {position}; child-sum takes any number"
        )
