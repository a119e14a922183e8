"""States of real positions alone, the leaves of all trees first, then the nodes: no work on padding.

For CPUs: the number of positions is read from the trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from treeformer.ops import TreeBatch

Six = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


class Packing(NamedTuple):
    """Where packed states stand among the padded positions of a batch."""

    leaves: Tensor  #: ``[leaves]`` the place of each leaf in ``[B, n]``
    nodes: Tensor  #: ``[nodes]`` the place of each node in ``[B, m]``
    places: Tensor  #: ``[P]`` the places of both in ``[B, n + m]``
    rows: Tensor  #: ``[B · (n + m)]`` the packed state of each position; in the padding any of the same tree
    leaf_rows: Tensor  #: ``[B · n]`` those of the leaves alone


def packing_of(batch: TreeBatch) -> Packing:
    """The packing of a batch; call it through `TreeBatch.shared`."""
    leaf_mask, node_mask, n, m = batch.leaf_mask, batch.node_mask, batch.n, batch.m
    leaves, nodes = (mask.flatten().nonzero()[:, 0] for mask in (leaf_mask, node_mask))
    before = torch.cat([leaves // n * m, (nodes // m + 1) * n])  # places of the other kind
    # the number of the last real position before one in the padding is of the same tree
    leaf_rows, node_rows = (mask.flatten().cumsum(0).view_as(mask) - 1 for mask in (leaf_mask, node_mask))
    rows = torch.cat([leaf_rows, node_rows + len(leaves)], dim=1).flatten()
    return Packing(leaves, nodes, torch.cat([leaves, nodes]) + before, rows, leaf_rows.flatten())


def can_pack(batch: TreeBatch) -> bool:
    """Whether states of this batch can be packed: on a CPU, outside of graphs."""
    return batch.device.type == "cpu" and not torch.compiler.is_compiling()


def joined(leaves: Tensor, nodes: Tensor, batch: TreeBatch) -> Tensor:
    """``[B, n + m, d]``: states of leaves and nodes that are not packed; called like `packed`."""
    return torch.cat([leaves, nodes], dim=1)


def packed(leaves: Tensor, nodes: Tensor, batch: TreeBatch) -> Tensor:
    """``[P, d]``: the real ones of ``leaves [B, n, d]``, then of ``nodes [B, m, d]``."""
    states: Tensor = _Packed.apply(leaves, nodes, batch)  # type: ignore[no-untyped-call]
    return states


def unpacked(states: Tensor, batch: TreeBatch) -> Tensor:
    """``[B, n + m, d]``: the packed ``states [P, d]`` in their places, zeros in the padding."""
    zeros = states.new_zeros(len(batch) * (batch.n + batch.m), states.shape[1])
    return zeros.index_copy(0, batch.shared(packing_of).places, states).view(len(batch), -1, states.shape[1])


def spread_heads(projected: Tensor, batch: TreeBatch, heads: int) -> Six:
    """Queries of leaves and of nodes, keys of leaves and of both, values of leaves and of nodes.

    Each is ``[B, H, positions, K]``, from packed ``[P, 3 · d]``. In the padding they are those of another
    position of the tree; no gradient comes from there.
    """
    six: Six = _Spread.apply(projected, batch, heads)  # type: ignore[no-untyped-call]
    return six


class _Packed(torch.autograd.Function):
    """`packed`; gradients are gathered, which is faster than to add them up in place."""

    @staticmethod
    def forward(ctx: Any, leaves: Tensor, nodes: Tensor, batch: TreeBatch) -> Tensor:
        ctx.batch = batch
        packing = batch.shared(packing_of)
        states = leaves.new_empty(len(packing.places), leaves.shape[2])
        count = len(packing.leaves)
        torch.index_select(leaves.flatten(0, 1), 0, packing.leaves, out=states[:count])
        torch.index_select(nodes.flatten(0, 1), 0, packing.nodes, out=states[count:])
        return states

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        batch: TreeBatch = ctx.batch
        padded = unpacked(gradient, batch)
        return padded[:, : batch.n], padded[:, batch.n :], None


class _Spread(torch.autograd.Function):
    """`spread_heads`; the gradients of its views are written to their places once."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, batch: TreeBatch, heads: int) -> Six:
        ctx.batch = batch
        queries, keys, values = _by_head(
            projected.index_select(0, batch.shared(packing_of).rows), batch, heads
        )
        n = batch.n
        return queries[:, :, :n], queries[:, :, n:], keys[:, :, :n], keys, values[:, :, :n], values[:, :, n:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        batch: TreeBatch = ctx.batch
        leaf_queries, node_queries, leaf_keys, all_keys, leaf_values, node_values = gradients
        B, heads, size, width = all_keys.shape
        padded = all_keys.new_empty(B * size, 3 * heads * width)
        queries, keys, values = _by_head(padded, batch, heads)
        n = batch.n
        queries[:, :, :n], queries[:, :, n:] = leaf_queries, node_queries
        keys.copy_(all_keys)
        keys[:, :, :n] += leaf_keys
        values[:, :, :n], values[:, :, n:] = leaf_values, node_values
        return padded.index_select(0, batch.shared(packing_of).places), None, None


def _by_head(projected: Tensor, batch: TreeBatch, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values ``[B, H, n + m, K]`` as views of ``[B · (n + m), 3 · d]``."""
    queries, keys, values = projected.view(len(batch), batch.n + batch.m, 3, heads, -1).permute(2, 0, 3, 1, 4)
    return queries, keys, values
