"""Hierarchical accumulation as a few small matrix products: exact, and never larger than nodes × leaves.

docs/method.md derives every line. A branch is a run of ancestors of its leaf, so what the paper sums cell by
cell are products with matrices that depend on the trees alone.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, Operands, branch_lengths

COUNTING = torch.float64  #: dtype of the counts of table rows, which are differences of sums


def accumulate(operands: Operands) -> Tensor:
    """``[B, H, m, K]`` accumulated node values.

    Coefficients are computed in float32 at least, and enter the products in the dtype of the values.
    """
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        scales, subtree, covering = batch.shared(tree_matrices, convention, dtype)
        A = scales * weights.to(dtype)[:, :, None, :]
        B = subtree * (A @ covering)
        result = mixture(A.to(leaves.dtype), leaves, B.to(nodes.dtype), nodes)
        if vertical is None or horizontal is None:
            return result
        counts = row_counts(A.to(COUNTING), batch, len(vertical), len(horizontal), convention)
        embeddings = [
            count.to(dtype) @ table[: count.shape[-1]].to(dtype)
            for count, table in zip(counts, (vertical, horizontal), strict=True)
        ]
        return result + torch.cat(embeddings, dim=-1).to(leaves.dtype)


def tree_matrices(
    batch: TreeBatch, convention: Convention, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients of leaves and nodes, without the leaf weights.

    ``[B, 1, m, n]``: 1 / (leaves of i · length of branch (i, j)), 0 where leaf j is not under node i;
    ``[B, 1, m, m]``: 1 where node t is in the subtree of node i;
    ``[B, 1, n, m]``: 1 where leaf j is in the subtree of node t.
    """
    products = branch_lengths(batch, convention) * batch.leaf_counts[:, :, None]
    scales = products.to(dtype).reciprocal().masked_fill(~batch.covers, 0)
    return scales[:, None], batch.subtree.to(dtype)[:, None], batch.covers.to(dtype)[:, None].mT


def row_counts(
    A: Tensor, batch: TreeBatch, vertical_rows: int, horizontal_rows: int, convention: Convention
) -> tuple[Tensor, Tensor]:
    """How much of each row of the two tables node i gathers, ``[B, H, m, rows]`` each.

    Rows that no tree of the batch reaches are left out.

    Vertical: a branch (i, j) meets row k if leaf j lies deep enough. So the count is a sum of A over the
    leaves of at least some depth.

    Horizontal: ``before`` counts all ancestors of the leaves, also those above node i. These cover all of i,
    so their share is a correlation of row i of A with where they start: a product of Fourier transforms.
    """
    trees = batch.shared(table_matrices, vertical_rows, horizontal_rows, convention)
    deeper, before = (A @ trees.leaves).split([batch.depth + 2, trees.horizontal_rows], dim=-1)
    if convention == "paper":
        vertical = deeper.gather(-1, trees.nodes.expand(*A.shape[:2], -1, -1))
    else:
        vertical = deeper[..., 1 : trees.nodes.shape[-1] + 1] * trees.nodes
    above = torch.fft.irfft(torch.fft.rfft(A, trees.size) * trees.starts, trees.size)
    horizontal = before - above[..., : trees.horizontal_rows]
    if vertical_rows < batch.depth:
        vertical = _with_last_row(vertical, A, batch)
    if horizontal_rows < batch.n:
        horizontal = _with_last_row(horizontal, A, batch)
    return vertical, horizontal


class TableMatrices(NamedTuple):
    """What the counts of table rows need of the trees.

    An exact row is met by one place alone: all rows that occur, or all but the last of a table that is too
    short.
    """

    leaves: Tensor  #: ``[B, 1, n, (depth + 2) + exact horizontal rows]``, depths and places of the leaves
    nodes: Tensor  #: ``[B, 1, m, exact vertical rows]``; see `table_matrices`
    starts: Tensor  #: ``[B, 1, m, size / 2 + 1]``, transform of how many nodes above i start at each leaf
    horizontal_rows: int  #: the number of exact ones
    size: int  #: size of the transform, a power of two; nodes above i start no later than i, so nothing wraps


def table_matrices(
    batch: TreeBatch, vertical_rows: int, horizontal_rows: int, convention: Convention
) -> TableMatrices:
    """What the counts of table rows need of the trees."""
    B, n, m, device = len(batch), batch.n, batch.m, batch.device
    exact_vertical = batch.depth if batch.depth <= vertical_rows else vertical_rows - 1
    exact_horizontal = n if n <= horizontal_rows else horizontal_rows - 1
    # 1 where leaf j has at least k = 0 … depth + 1 nodes above it
    deeper = batch.leaf_depths[..., None] >= torch.arange(batch.depth + 2, device=device)
    # the number of nodes above leaf j under which it is leaf number k = 1 … rows
    place = (torch.arange(n, device=device) - batch.spans[..., :1]).clamp(0, exact_horizontal).mT
    places = torch.zeros(B, n, exact_horizontal + 1, dtype=COUNTING, device=device)
    places.scatter_add_(2, place, batch.covers.mT.to(COUNTING))
    leaves = torch.cat([deeper.to(COUNTING), places[..., :exact_horizontal]], dim=-1)
    row = torch.arange(1, exact_vertical + 1, device=device)
    depth = batch.node_depths[..., None]
    # paper: how deep a leaf under node i lies at least if its branch meets row k = 1 … rows
    # released: 1 where row k stands for a depth at or below node i
    paper = convention == "paper"
    nodes = (depth + row).clamp(max=batch.depth + 1) if paper else (row > depth).to(COUNTING)
    size = 1 << (n - 1).bit_length()
    ancestors = batch.subtree.mT.to(COUNTING) - torch.eye(m, dtype=COUNTING, device=device)
    starts = torch.zeros(B, m, n, dtype=COUNTING, device=device)
    starts.scatter_add_(2, batch.spans[:, None, :, 0].expand(-1, m, -1), ancestors)
    transform = torch.fft.rfft(starts, size).conj().resolve_conj()
    return TableMatrices(leaves[:, None], nodes[:, None], transform[:, None], exact_horizontal, size)


def branch_numbers(batch: TreeBatch) -> Tensor:
    """``[B, 1, m, n]`` branch sizes as numbers to multiply with."""
    return batch.branch_sizes.to(COUNTING)[:, None]


def mixture(A: Tensor, leaves: Tensor, B: Tensor, nodes: Tensor) -> Tensor:
    """``A @ leaves + B @ nodes``, ``[B, H, m, K]``; one product for all heads that share coefficients."""
    if A.shape[1] != 1:
        return A @ leaves + B @ nodes
    joined = torch.bmm(A[:, 0], leaves.transpose(1, 2).flatten(2))
    joined = torch.baddbmm(joined, B[:, 0], nodes.transpose(1, 2).flatten(2))
    return joined.unflatten(2, (leaves.shape[1], leaves.shape[3])).transpose(1, 2)


def _with_last_row(counts: Tensor, A: Tensor, batch: TreeBatch) -> Tensor:
    """``counts`` and the last row of a table that is too short: all cells but the counted ones."""
    total = (A * batch.shared(branch_numbers)).sum(-1, keepdim=True)
    return torch.cat([counts, total - counts.sum(-1, keepdim=True)], dim=-1)
