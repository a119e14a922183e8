"""Hierarchical accumulation over the cells that exist: fast on CPUs, where the trees can be looked at.

Most leaves lie under few of the nodes, so most of ``[nodes, leaves]`` is empty. Here only what exists is
computed: *cells*, pairs of a node and a leaf under it; pairs of a node and a node of its subtree; and for the
counts of table rows triples of both. All are runs in post-order, so their places are sums of run lengths.
docs/method.md has the derivation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, Operands
from treeformer.ops.matrix import mixture
from treeformer.ops.runs import runs_of

_LIMIT = 4  #: more triples than this times nodes × leaves are left to the matrix form


def accumulate(operands: Operands) -> Tensor:
    """``[B, H, m, K]`` accumulated node values.

    Coefficients are computed in float32 at least, and enter the products in the dtype of the values.
    """
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        if vertical is None or horizontal is None:
            [factors] = factors_and_counts(weights.to(dtype), batch, convention, tables=False)
            return _mixed(factors, leaves, nodes)
        factors, counts = factors_and_counts(weights.to(dtype), batch, convention, tables=True)
        vertical = long_enough(vertical.to(dtype), batch.depth)
        if convention == "paper":  # a branch of v nodes meets the rows 1 … v
            vertical = vertical.cumsum(0)
        table = torch.block_diag(vertical, long_enough(horizontal.to(dtype), batch.n))
        return _mixed(factors, leaves, nodes) + (counts @ table).to(leaves.dtype)


def _mixed(factors: Tensor, leaves: Tensor, nodes: Tensor) -> Tensor:
    """``[B, H, m, K]``: values of leaves and nodes times factors ``[B, H or 1, m, line]``."""
    n, m = leaves.shape[2], nodes.shape[2]
    A, B, _ = factors.to(leaves.dtype).split([n, m, factors.shape[3] - n - m], dim=3)
    return mixture(A, leaves, B, nodes)


def fits(batch: TreeBatch) -> bool:
    """Whether the cells are few enough. They are for parses; in deep chains the matrix form is smaller."""
    return batch.shared(triple_count) <= _LIMIT * len(batch) * batch.m * batch.n


def factors_and_counts(
    weights: Tensor, batch: TreeBatch, convention: Convention, *, tables: bool
) -> tuple[Tensor, ...]:
    """What multiplies values and rows of tables, from leaf weights ``[B, H or 1, n]``.

    Returns the factors A of leaves and B of nodes, ``[B, H or 1, m, line]``, see docs/method.md; and with
    tables the counts ``[B, H or 1, m, depth + n]`` of the rows of the vertical and the horizontal one.
    """
    results: tuple[Tensor, ...] = _Factors.apply(  # type: ignore[no-untyped-call]
        weights, batch, convention, tables
    )
    return results


class _Factors(torch.autograd.Function):
    """`factors_and_counts`: numbers are moved to their places, and their gradients back.

    The share of node t in node i is the sum of A over the leaves of t: a difference of two sums in float64.
    Each tree has sums of its own, so what it holds never reaches another tree.
    """

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, batch: TreeBatch, convention: Convention, tables: bool
    ) -> tuple[Tensor, ...]:
        ctx.batch, ctx.convention, ctx.tables = batch, convention, tables
        cells, pairs = batch.shared(cells_of), batch.shared(pairs_of)
        scales = batch.shared(cell_scales, convention, weights.dtype)
        rows = weights.transpose(0, 1).flatten(1)
        B, m = len(batch), batch.m
        all_factors = rows.new_zeros(len(rows), B * m * line_of(batch))
        all_counts = rows.new_zeros(len(rows), B * m * (batch.depth + batch.n)) if tables else None
        for number, row in enumerate(rows):
            numbers = row.index_select(0, cells.leaves).mul_(scales)
            sums = row.new_zeros(B * cells.width, dtype=torch.float64).scatter_(
                0, cells.spots, numbers.double()
            )
            sums = sums.view(B, -1).cumsum(1).view(-1)
            shares = sums.index_select(0, pairs.last).sub_(sums.index_select(0, pairs.before)).to(row.dtype)
            all_factors[number].scatter_(0, pairs.places, shares).scatter_add_(0, cells.places, numbers)
            if all_counts is not None:
                triples = batch.shared(triples_of)
                counts = all_counts[number]
                if convention == "paper":
                    counts.scatter_add_(0, cells.rows, numbers)
                else:
                    counts.scatter_add_(0, pairs.rows, shares)
                counts.scatter_add_(0, triples.rows, numbers.index_select(0, triples.cells))
        results = [all_factors] if all_counts is None else [all_factors, all_counts]
        return tuple(result.view(len(rows), B, m, -1).transpose(0, 1) for result in results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        batch, B = ctx.batch, len(ctx.batch)
        cells, pairs = batch.shared(cells_of), batch.shared(pairs_of)
        scales = batch.shared(cell_scales, ctx.convention, gradients[0].dtype)
        flat = [gradient.transpose(0, 1).flatten(1) for gradient in gradients]
        result = flat[0].new_zeros(len(flat[0]), B * batch.n)
        for number, into in enumerate(result):
            factors = flat[0][number]
            numbers = factors.index_select(0, cells.places)
            shares = factors.index_select(0, pairs.places)
            if ctx.tables:
                triples, counts = batch.shared(triples_of), flat[1][number]
                if ctx.convention == "paper":
                    numbers += counts.index_select(0, cells.rows)
                else:
                    shares += counts.index_select(0, pairs.rows)
                numbers.scatter_add_(0, triples.cells, counts.index_select(0, triples.rows))
            wide = shares.double()
            sums = wide.new_zeros(B * cells.width).scatter_add_(0, pairs.last, wide)
            sums.scatter_add_(0, pairs.before, wide.neg_())
            later = sums.view(B, -1).flip(1).cumsum(1).flip(1).view(-1)  # a number is in all later sums
            numbers += later.index_select(0, cells.spots).to(numbers.dtype)
            into.scatter_add_(0, cells.leaves, numbers.mul_(scales))
        return result.view(-1, B, batch.n).transpose(0, 1), None, None, None


def line_of(batch: TreeBatch) -> int:
    """The width of a line of leaves and nodes: n + m, up to a multiple of 8 as fused kernels like it."""
    return -(-(batch.n + batch.m) // 8) * 8


class Cells(NamedTuple):
    """The pairs of a node i and a leaf j under it, in the order of nodes, then of leaves."""

    width: int  #: places for the cells of one tree, and an empty one
    leaves: Tensor  #: ``[cells]`` the number ``b · n + j`` of the leaf
    places: Tensor  #: ``[cells]`` the place in ``[B, m, line]``
    rows: Tensor  #: ``[cells]`` the place in ``[B, m, depth + n]`` of the branch size, counted from 0
    spots: Tensor  #: ``[cells]`` the place in ``[B, width]``: the first place of a tree is empty
    lengths: Tensor  #: ``[cells]`` the number of leaves under the node
    branches: Tensor  #: ``[cells]`` the size of the branch
    first: Tensor  #: ``[B · m]`` the first cell of each node
    first_spots: Tensor  #: ``[B · m]`` its place in ``[B, width]``


def cells_of(batch: TreeBatch) -> Cells:
    """The cells of a batch; call it through `TreeBatch.shared`.

    In NumPy, as the functions below: its steps are shorter.
    """
    B, n, m = len(batch), batch.n, batch.m
    _, _, node_depths, leaf_depths = (flat(values) for values in batch.shared(runs_of))
    starts, ends = (flat(values) for values in batch.spans.unbind(-1))
    counts = ends - starts
    upto = counts.cumsum()
    first = upto - counts
    width = int(np.diff(upto[m - 1 :: m], prepend=0).max()) + 1
    node = np.arange(B * m)
    tree = node // m
    first_spots = first + tree * width + 1 - first[::m].repeat(m)
    order = np.arange(upto[-1])
    shift = starts - first  # from the number of a cell to that of its leaf in the tree
    leaves = order + (shift + tree * n).repeat(counts)
    branches = leaf_depths[leaves] - node_depths.repeat(counts)
    return Cells(
        width,
        *tensors(
            batch,
            leaves,
            order + (shift + node * line_of(batch)).repeat(counts),
            branches + (node * (batch.depth + n) - 1).repeat(counts),
            order + (first_spots - first).repeat(counts),
            counts.repeat(counts),
            branches,
            first,
            first_spots,
        ),
    )


def cell_scales(batch: TreeBatch, convention: Convention, dtype: torch.dtype) -> Tensor:
    """``[cells]``: 1 / (leaves under the node · length of the branch)."""
    cells = batch.shared(cells_of)
    lengths = cells.branches + 1 if convention == "paper" else cells.branches  # with the leaf, or without
    return (cells.lengths * lengths).to(dtype).reciprocal()


class Pairs(NamedTuple):
    """The pairs of a node i and a node t of its subtree, in this order."""

    places: Tensor  #: ``[pairs]`` the place in ``[B, m, line]``
    rows: Tensor  #: ``[pairs]`` the place in ``[B, m, depth + n]`` of the depth of t
    last: Tensor  #: ``[pairs]`` where in ``[B, width]`` the cell of i and the last leaf under t is
    before: Tensor  #: ``[pairs]`` the place before that of the cell of i and the first leaf under t
    over: Tensor  #: ``[pairs]`` the number ``b · m + i`` of the node above


def pairs_of(batch: TreeBatch) -> Pairs:
    """The pairs of nodes of a batch; call it through `TreeBatch.shared`."""
    B, n, m = len(batch), batch.n, batch.m
    _, sizes, node_depths, _ = (flat(values) for values in batch.shared(runs_of))
    starts, ends = (flat(values) for values in batch.spans.unbind(-1))
    node = np.arange(B * m)
    upto = sizes.cumsum()
    # the subtree of i is the run of nodes that ends at i
    under = np.arange(upto[-1]) + (node + 1 - upto).repeat(sizes)
    base = (flat(batch.shared(cells_of).first_spots) - starts - 1).repeat(sizes)
    return Pairs(
        *tensors(
            batch,
            under + (node * line_of(batch) + n - node // m * m).repeat(sizes),
            node_depths[under] + (node * (batch.depth + n)).repeat(sizes),
            ends[under] + base,
            starts[under] + base,
            node.repeat(sizes),
        )
    )


class Triples(NamedTuple):
    """A node i, a node t of its subtree and a leaf j under t, in this order."""

    cells: Tensor  #: ``[triples]`` the cell (i, j)
    rows: Tensor  #: ``[triples]`` the place in ``[B, m, depth + n]`` of the place of j among the leaves of t


def triples_of(batch: TreeBatch) -> Triples:
    """The triples of a batch; call it through `TreeBatch.shared`."""
    cells, pairs = batch.shared(cells_of), batch.shared(pairs_of)
    last, before, over = flat(pairs.last), flat(pairs.before), flat(pairs.over)
    lengths = last - before
    upto = lengths.cumsum()
    order = np.arange(upto[-1])
    begin = upto - lengths
    first = before + 1 - (flat(cells.first_spots) - flat(cells.first))[over]
    numbers = (first - begin).repeat(lengths)
    rows = (over * (batch.depth + batch.n) + batch.depth - begin).repeat(lengths)
    numbers += order
    rows += order
    return Triples(*tensors(batch, numbers, rows))


def flat(values: Tensor) -> Any:
    """The integers of a tensor as an array of one dimension."""
    return values.cpu().numpy().ravel()


def tensors(batch: TreeBatch, *arrays: Any) -> list[Tensor]:
    """Arrays as tensors on the device of a batch."""
    return [torch.from_numpy(array).to(batch.device) for array in arrays]


def triple_count(batch: TreeBatch) -> int:
    """The number of triples: for each node its leaves, once for each of the nodes above it and for itself."""
    counts = batch.spans[..., 1] - batch.spans[..., 0]
    return int((counts * (batch.shared(runs_of).node_depths + 1)).sum())


def long_enough(table: Tensor, rows: int) -> Tensor:
    """``[rows, w]``: the first rows of a table, its last one over again where it is too short."""
    missing = rows - len(table)
    return table[:rows] if missing <= 0 else torch.cat([table, table[-1:].expand(missing, -1)])
