"""Hierarchical accumulation over the cells that exist: fast on CPUs, where the trees can be looked at.

Most leaves lie under few of the nodes, so most of ``[nodes, leaves]`` is empty. Here only pairs of a node and
a leaf under it are computed, and for the counts of table rows only triples: a node, a node of its subtree, a
leaf under that. Both are contiguous in post-order, so their places are sums of run lengths. Nothing is
subtracted, so float32 is enough. docs/method.md has the derivation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, Operands
from treeformer.ops.matrix import mixture

_LIMIT = 4  #: more triples than this times nodes × leaves are left to the matrix form


def accumulate(operands: Operands) -> Tensor:
    """``[B, H, m, K]`` accumulated node values.

    Coefficients are computed in float32 at least, and enter the products in the dtype of the values.
    """
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    B, n, m = len(batch), batch.n, batch.m
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        cells, triples = batch.shared(cells_of), batch.shared(triples_of)
        scales = batch.shared(cell_scales, convention, dtype)
        flat = weights.to(dtype).transpose(0, 1).flatten(1)
        coefficients = scales * flat.index_select(1, cells.leaves)
        A = moved(coefficients, None, cells.places, B * m * n).view(-1, B, m, n).transpose(0, 1)
        shares = moved(coefficients, triples.cells, triples.pairs, B * m * m)
        shares = shares.view(-1, B, m, m).transpose(0, 1)
        result = mixture(A.to(leaves.dtype), leaves, shares.to(nodes.dtype), nodes)
        if vertical is None or horizontal is None:
            return result
        rows = moved(coefficients, triples.cells, triples.rows, B * m * n)
        under = rows.view(-1, B, m, n).transpose(0, 1) @ long_enough(horizontal.to(dtype), n)
        vertical = long_enough(vertical.to(dtype), batch.depth)
        if convention == "paper":  # a branch of v nodes meets the rows 1 … v
            counts = moved(coefficients, None, cells.sizes, B * m * batch.depth)
            above = counts.view(-1, B, m, batch.depth).transpose(0, 1) @ vertical.cumsum(0)
        else:  # the row depends on the node alone
            above = shares @ vertical[batch.node_depths][:, None]
        return result + torch.cat([above, under], dim=-1).to(leaves.dtype)


def fits(batch: TreeBatch) -> bool:
    """Whether the cells are few enough. They are for parses; in deep chains the matrix form is smaller."""
    return batch.shared(triple_count) <= _LIMIT * len(batch) * batch.m * batch.n


def moved(numbers: Tensor, sources: Tensor | None, targets: Tensor, size: int) -> Tensor:
    """``[H, size]``: the number ``[H, c]`` at each source, added to its target. None: all, in order."""
    result: Tensor = Moved.apply(numbers, sources, targets, size)  # type: ignore[no-untyped-call]
    return result


class Moved(torch.autograd.Function):
    """`moved`, whose gradient moves back."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, sources: Tensor | None, targets: Tensor, size: int) -> Tensor:
        ctx.sources, ctx.targets, ctx.count = sources, targets, numbers.shape[1]
        return _moved(numbers, sources, targets, size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        [gradient] = gradients
        return _moved(gradient, ctx.targets, ctx.sources, ctx.count), None, None, None


def _moved(numbers: Tensor, sources: Tensor | None, targets: Tensor | None, size: int) -> Tensor:
    if sources is not None:
        numbers = numbers.index_select(1, sources)
    if targets is None:
        return numbers
    result = numbers.new_zeros(len(numbers), size)
    for row, values in zip(result, numbers, strict=True):  # one row is added faster than one of many
        row.scatter_add_(0, targets, values)
    return result


class Cells(NamedTuple):
    """The pairs of a node i and a leaf j under it, in the order of nodes, then of leaves."""

    leaves: Tensor  #: ``[cells]`` the number ``b · n + j`` of the leaf
    places: Tensor  #: ``[cells]`` the place in ``[B, m, n]``
    sizes: Tensor  #: ``[cells]`` the place in ``[B, m, depth]`` of the branch size, counted from 0
    lengths: Tensor  #: ``[cells]`` the number of leaves under the node
    branches: Tensor  #: ``[cells]`` the size of the branch
    first: Tensor  #: ``[B · m]`` the first cell of each node


def cells_of(batch: TreeBatch) -> Cells:
    """The cells of a batch; call it through `TreeBatch.shared`."""
    B, n, m = len(batch), batch.n, batch.m
    node = torch.arange(B * m, device=batch.device)
    counts = (batch.spans[..., 1] - batch.spans[..., 0]).flatten()
    first = counts.cumsum(0) - counts
    total = int(counts.sum())
    start = (batch.spans[..., 0] + torch.arange(0, B * n, n, device=batch.device)[:, None]).flatten()
    nodes = torch.repeat_interleave(node, counts, output_size=total)
    leaves = torch.arange(total, device=batch.device) + (start - first).index_select(0, nodes)
    depths = batch.node_depths.flatten().index_select(0, nodes)
    branches = batch.leaf_depths.flatten().index_select(0, leaves) - depths
    tree_start = (node // m * n).index_select(0, nodes)
    return Cells(
        leaves,
        nodes * n + leaves - tree_start,
        nodes * batch.depth + branches - 1,
        counts.index_select(0, nodes),
        branches,
        first,
    )


def cell_scales(batch: TreeBatch, convention: Convention, dtype: torch.dtype) -> Tensor:
    """``[cells]``: 1 / (leaves under the node · length of the branch)."""
    cells = batch.shared(cells_of)
    lengths = cells.branches + 1 if convention == "paper" else cells.branches  # with the leaf, or without
    return (cells.lengths * lengths).to(dtype).reciprocal()


class Triples(NamedTuple):
    """A node i, a node t of its subtree and a leaf j under t, in this order."""

    cells: Tensor  #: ``[triples]`` the cell (i, j)
    pairs: Tensor  #: ``[triples]`` the place of (i, t) in ``[B, m, m]``
    rows: Tensor  #: ``[triples]`` the place in ``[B, m, n]`` of i and the place of j among the leaves of t


def triples_of(batch: TreeBatch) -> Triples:
    """The triples of a batch; call it through `TreeBatch.shared`."""
    B, n, m = len(batch), batch.n, batch.m
    node = torch.arange(B * m, device=batch.device)
    start = batch.spans[..., 0].flatten()
    counts = (batch.spans[..., 1] - batch.spans[..., 0]).flatten()
    below = batch.subtree.sum(2, dtype=torch.int32).flatten() * batch.node_mask.flatten()
    # pairs (i, t): the subtree of i is the run of nodes that ends at i
    over = torch.repeat_interleave(node, below)
    place = torch.arange(len(over), device=batch.device)
    run = (node + 1 - below.cumsum(0)).index_select(0, over)
    under = place + run
    lengths = counts.index_select(0, under)
    total = batch.shared(triple_count)
    begin = lengths.cumsum(0) - lengths
    first = batch.shared(cells_of).first.index_select(0, over)
    first += start.index_select(0, under) - start.index_select(0, over) - begin
    pair = torch.repeat_interleave(place, lengths, output_size=total)
    order = torch.arange(total, device=batch.device)
    return Triples(
        order + first.index_select(0, pair),
        (over * m + under % m).index_select(0, pair),
        order + (over * n - begin).index_select(0, pair),
    )


def triple_count(batch: TreeBatch) -> int:
    """The number of triples: for each node its leaves, once for each of the nodes above it and for itself."""
    counts = batch.spans[..., 1] - batch.spans[..., 0]
    return int((counts * (batch.node_depths + 1)).sum())


def long_enough(table: Tensor, rows: int) -> Tensor:
    """``[rows, w]``: the first rows of a table, its last one over again where it is too short."""
    missing = rows - len(table)
    return table[:rows] if missing <= 0 else torch.cat([table, table[-1:].expand(missing, -1)])
