"""Recurrences up a tree: states of nodes from those of their children, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from treeformer.nn.lstm_cell import at_least_float32
from treeformer.ops import TreeBatch
from treeformer.ops.levels import first_leaves, first_nodes, leaf_parents, levels, node_parents

State = TypeVar("State")  #: a tensor ``[..., d]``, or a named tuple of tensors


class Climber(nn.Module):
    """Base of layers that compute nodes level by level: their time grows with the height of the trees."""


class Cell(Protocol[State]):
    """What computes the state of a node from the messages of its children."""

    slots: int  #: 1: all messages are added up; 2: that of the first child, and the sum of the others

    def message(self, child: State) -> Tensor:
        """``[..., w]``: the message of a child to its parent."""

    @property
    def update(self) -> Callable[..., State]:
        """Computes states ``[K, d]`` of nodes from messages ``[K, slots · w]`` and, if it has any, inputs.

        A missing message is zeros.
        """


def climb(
    cell: Cell[State], messages: Tensor, batch: TreeBatch, level_inputs: Sequence[Tensor] | None = None
) -> list[State]:
    """States of the nodes of each level ``[K, d]``, from the lowest level up.

    Leaves and nodes send messages to their parents. The nodes of one height, over all trees of a batch, are
    computed in one matrix product, so the number of steps is the height of the tallest tree.

    Args:
        cell: computes states and messages.
        messages: ``[B · n, w]``, the messages of the leaves.
        batch: the trees.
        level_inputs: for each level the inputs ``[K, i]`` of its nodes, for a cell that reads some.
    """
    steps = batch.shared(steps_of, cell.slots)
    # In-place is safe: autograd saves none of the overwritten rows.
    inbox = messages.new_zeros(steps.rows, messages.shape[-1])
    inbox.index_add_(0, steps.leaf_rows, messages)
    states_by_level = []
    for level, (nodes, rows) in enumerate(zip(steps.nodes, steps.node_rows, strict=True)):
        received = inbox.view(-1, cell.slots * inbox.shape[1]).index_select(0, nodes)
        inputs = () if level_inputs is None else (level_inputs[level],)
        state = cell.update(received, *inputs)
        inbox.index_add_(0, rows, cell.message(state))
        states_by_level.append(state)
    return states_by_level


def climb_in_order(
    cell: Cell[Any], messages: Tensor, batch: TreeBatch, inputs: Tensor | None = None
) -> tuple[Tensor, ...]:
    """States ``[B, m, d]`` of the nodes in post-order, one at a time; for torch.compile and torch.export.

    No step depends on the heights of the trees, which a compiled graph cannot know. States that consist of
    several tensors are returned as those.

    Args:
        cell, messages, batch: see `climb`.
        inputs: ``[B, m, i]`` inputs of the nodes, for a cell that reads some.
    """
    slots, width, m = cell.slots, messages.shape[-1], batch.m
    leaf_slots = slots_of(batch.shared(leaf_parents), batch.shared(first_leaves), slots)
    above = batch.shared(node_parents)
    is_root = above == torch.arange(m, device=batch.device)
    node_slots = slots_of(above.masked_fill(is_root, m), batch.shared(first_nodes), slots)
    inbox = messages.new_zeros(batch.spans.shape[0], (m + 1) * slots, width)  # the last slots are not read
    sent = messages.view(batch.spans.shape[0], batch.n, width)
    inbox = inbox.scatter_add(1, leaf_slots[..., None].expand_as(sent), sent)
    steps = [torch.arange(m, device=batch.device), node_slots.mT]
    if inputs is not None:
        steps.append(inputs.transpose(0, 1))

    def step(inbox: Tensor, values: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        node, slot, *read = values
        received = inbox.index_select(1, node * slots + torch.arange(slots, device=node.device)).flatten(1)
        state = cell.update(received, *read)
        message = cell.message(state)[:, None]
        inbox = inbox.scatter_add(1, slot[:, None, None].expand(-1, 1, width), message)
        return inbox, tuple(part.clone() for part in (state if isinstance(state, tuple) else (state,)))

    _, states = one_by_one(step, inbox, steps)
    mask = batch.node_mask[..., None]
    return tuple(part.transpose(0, 1).masked_fill(~mask, 0) for part in states)


def one_by_one(step: Callable[..., Any], first: Any, values: Any) -> Any:
    """The last carry and all outputs of ``carry, output = step(carry, value)``, as one node of a graph.

    Values are tensors, or a list of them, whose first dimension is that of the steps; outputs are stacked.
    """
    from torch._higher_order_ops.scan import scan

    return scan(step, first, values)


def slots_of(parents: Tensor, first: Tensor, slots: int) -> Tensor:
    """The first slot of the parent for a first child, the last slot for all others."""
    return torch.where(first, parents * slots, parents * slots + slots - 1)


def flat_leaves(leaves: Tensor, batch: TreeBatch) -> Tensor:
    """``[B · n, d]``: the leaves ``[B, n, d]`` in float32 at least, zeros in the padding."""
    return at_least_float32(leaves).masked_fill(~batch.leaf_mask[..., None], 0).flatten(0, 1)


def at_places(states: Sequence[Tensor], places: Tensor, mask: Tensor) -> Tensor:
    """``[B, m, d]``: the states of all levels at ``places [B, m]``; zeros where the mask is False."""
    rows = torch.cat(list(states)).index_select(0, places.flatten())
    return rows.view(*places.shape, -1).masked_fill(~mask[..., None], 0)


class Steps(NamedTuple):
    """The rows of the inbox that each leaf and node reads and writes.

    The rows, in order:

    - ``slots`` rows for each of the ``B · m`` nodes;
    - ``slots`` rows of zeros, which the empty places of a level read;
    - ``slots`` unread rows for each tree, to which nodes without a parent send. Each tree has its unread rows
      because a GPU is slow at adding many messages to one row.
    """

    rows: int
    nodes: tuple[Tensor, ...]  #: for each level the flat indices ``b · m + i`` ``[K]`` of its nodes
    leaf_rows: Tensor  #: ``[B · n]`` rows to which leaves send
    node_rows: tuple[Tensor, ...]  #: for each level the rows ``[K]`` to which its nodes send
    places: Tensor  #: ``[B, m]``, see `Levels`


def steps_of(batch: TreeBatch, slots: int) -> Steps:
    """The rows of the inbox that the levels of a batch read and write."""
    B, m = len(batch), batch.m
    tree = torch.arange(B, device=batch.device)[:, None]
    unread = (B * m + 1 + tree) * slots

    def rows_of(parents: Tensor, without_parent: Tensor, first: Tensor) -> Tensor:
        """The first slot of the parent for a first child, the last slot for all others."""
        rows = torch.where(without_parent, unread, (tree * m + parents) * slots)
        return torch.where(first, rows, rows + slots - 1).flatten()

    above = batch.shared(leaf_parents)
    leaf_rows = rows_of(above, above == m, batch.shared(first_leaves))
    above = batch.shared(node_parents)
    itself = above == torch.arange(m, device=batch.device)
    node_rows = rows_of(above, itself, batch.shared(first_nodes))
    nodes, places = batch.shared(levels)
    numbers = torch.cat(nodes)
    spread = unread.flatten()[torch.arange(len(numbers), device=batch.device) % B]
    level_rows = torch.where(numbers < B * m, node_rows[numbers.clamp(max=B * m - 1)], spread)
    return Steps(
        rows=(B * m + 1 + B) * slots,
        nodes=nodes,
        leaf_rows=leaf_rows,
        node_rows=level_rows.split([len(level) for level in nodes]),
        places=places,
    )
