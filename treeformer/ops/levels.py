"""Trees from the bottom up: parents, children, heights, and the nodes of each height.

All are functions of a `TreeBatch`; call them through `TreeBatch.shared`, which computes them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch


class Levels(NamedTuple):
    """The nodes of all trees of a batch, sorted by height.

    Node i of tree b has the flat index ``b · m + i``. An empty place in a level has the index ``B · m``.
    """

    nodes: tuple[Tensor, ...]  #: for each height from 1 on, the flat indices ``[K]`` of its nodes
    places: Tensor  #: ``[B, m]`` index of each node in the concatenated levels; 0 where padded


class Limits(NamedTuple):
    """What is known about the trees of a batch while a CUDA graph is recorded, when no value can be read."""

    levels: int  #: no tree has more levels, even if its nodes are folded
    folds: int  #: no tree has more folds, see `treeformer.ops.folding`


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def known_limits(limits: Limits | None) -> Iterator[None]:
    """Let levels and folds rely on these limits; None: only the shape of a batch is known."""
    token = _limits.set(limits)
    try:
        yield
    finally:
        _limits.reset(token)


def current_limits() -> Limits | None:
    """The limits set by `known_limits`; None while torch.compile traces, which cannot read them."""
    return None if torch.compiler.is_compiling() else _limits.get()


def leaf_parents(batch: TreeBatch) -> Tensor:
    """``[B, n]`` integers, the lowest node above each leaf; m where padded.

    In post-order it is the first node that covers the leaf.
    """
    return _first(batch.covers)


def node_parents(batch: TreeBatch) -> Tensor:
    """``[B, m]`` integers, the node above each node; roots and padding are mapped to themselves.

    In post-order it is the first later node whose subtree holds the node.
    """
    node = torch.arange(batch.m, device=batch.device)
    above = _first(batch.subtree & (node[:, None] > node))
    return torch.where(above < batch.m, above, node)


def heights(batch: TreeBatch) -> Tensor:
    """``[B, m]`` integers, the number of nodes on the longest path down, itself included; 0 where padded.

    That path ends at the deepest node of the subtree, so its size is a difference of depths.
    """
    depths = batch.node_depths
    deepest = depths[:, None, :].masked_fill(~batch.subtree, 0).amax(2)
    return (deepest - depths + 1).masked_fill(~batch.node_mask, 0)


def first_leaves(batch: TreeBatch) -> Tensor:
    """``[B, n]``, True for leaves that are the first child of their parent."""
    parents = batch.shared(leaf_parents).clamp(max=batch.m - 1)
    leaf = torch.arange(batch.n, device=batch.device)
    return (batch.spans[..., 0].gather(1, parents) == leaf) & batch.leaf_mask


def first_nodes(batch: TreeBatch) -> Tensor:
    """``[B, m]``, True for nodes that are the first child of their parent, and for roots."""
    start = batch.spans[..., 0]
    return (start.gather(1, batch.shared(node_parents)) == start) & batch.node_mask


def child_counts(batch: TreeBatch) -> Tensor:
    """``[B, m]`` integers, the number of children of each node, leaves and nodes; 0 where padded."""
    counts = batch.spans.new_zeros(batch.spans.shape[0], batch.m + 1)
    counts.scatter_add_(1, batch.shared(leaf_parents), torch.ones_like(counts[:, :1]).expand(-1, batch.n))
    parents = batch.shared(node_parents)
    itself = parents == torch.arange(batch.m, device=batch.device)
    counts.scatter_add_(1, parents.masked_fill(itself, batch.m), torch.ones_like(parents))
    return counts[:, : batch.m]


def levels(batch: TreeBatch) -> Levels:
    """The levels of the batch: exact ones, or bounded ones while a CUDA graph is recorded."""
    if batch.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return bounded_levels(batch)
    return exact_levels(batch)


def exact_levels(batch: TreeBatch) -> Levels:
    """One level for each height of the tallest tree, without empty places.

    On a GPU this waits for the device.
    """
    order, starts = _sorted(batch)
    ends = starts.tolist()
    sizes = [end - start for start, end in pairwise(ends) if end > start]
    places = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=batch.device))
    return Levels(
        order[: ends[-1]].split(sizes), places.view_as(batch.node_mask).masked_fill(~batch.node_mask, 0)
    )


def bounded_levels(batch: TreeBatch) -> Levels:
    """Levels with the largest sizes that the shape allows, so that no value on the device is read.

    Subtrees of nodes of equal height are disjoint, and a subtree of height h has at least h nodes. So a tree
    of m nodes has at most m levels, and at most m // h nodes of height h. `known_limits` may leave out the
    highest levels.
    """
    order, starts = _sorted(batch)
    B, m = batch.node_mask.shape
    limits = current_limits()
    count = m if limits is None else min(m, limits.levels)
    sizes = [B * (m // height) for height in range(1, count + 1)]
    height = torch.arange(1, count + 1, device=batch.device)
    ends = (B * (m // height)).cumsum(0)
    place = torch.arange(sum(sizes), device=batch.device)
    level = torch.searchsorted(ends, place, right=True)
    first = torch.cat([ends.new_zeros(1), ends[:-1]])
    rank = starts[level] + place - first[level]
    nodes = torch.where(rank < starts[level + 1], order[rank.clamp(max=B * m - 1)], B * m)
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(B * m, device=batch.device))
    node_level = (batch.shared(heights) - 1).clamp(0, count - 1)
    places = first[node_level] + ranks.view(B, m) - starts[node_level]
    return Levels(nodes.split(sizes), places.masked_fill(~batch.node_mask, 0))


def _sorted(batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """Numbers ``[B · m]`` of nodes by height, padding last, and ``[m + 1]`` where heights 1, 2, … begin.

    The last of these is the number of all nodes.
    """
    keys = batch.shared(heights).masked_fill(~batch.node_mask, batch.m + 1).flatten()
    ordered, order = keys.sort(stable=True)
    return order, torch.searchsorted(ordered, torch.arange(1, batch.m + 2, device=batch.device))


def _first(holds: Tensor) -> Tensor:
    """``[B, s]``: the first row of ``holds [B, m, s]`` that is True, m if there is none."""
    row = torch.arange(holds.shape[1], device=holds.device)[:, None]
    return torch.where(holds, row, holds.shape[1]).amin(1)
