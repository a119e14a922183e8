"""Hierarchical accumulation as a few small matrix products: exact, and never larger than nodes × leaves.

docs/method.md derives every line. A branch is a run of ancestors of its leaf, so what the paper sums cell by
cell are products with matrices that depend on the trees alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, branch_lengths

COUNTING = torch.float64  #: of the counts of table rows, which are differences of sums


def accumulate(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    batch: TreeBatch,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    convention: Convention,
) -> Tensor:
    """``[B, H, m, K]`` accumulated node values.

    Coefficients are computed in float32 at least, and enter the products in the dtype of the values.
    """
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        A = batch.shared(scales, convention, dtype)[:, None] * weights.to(dtype)[:, :, None, :]
        B = batch.shared(below, dtype)[:, None] * (A @ batch.shared(covering, dtype)[:, None].mT)
        result = _mixture(A.to(leaves.dtype), leaves, B.to(nodes.dtype), nodes)
        if vertical is None or horizontal is None:
            return result
        exact = A.to(COUNTING)
        rows = _exact_rows(horizontal.shape[0], batch.n)
        deeper, before = (exact @ batch.shared(leaf_facts, rows)[:, None]).split(
            [batch.depth + 2, rows], dim=-1
        )
        V = vertical_counts(exact, deeper, batch, vertical.shape[0], convention).to(dtype)
        H = horizontal_counts(exact, before, batch, horizontal.shape[0]).to(dtype)
        embedded = torch.cat(
            [V @ vertical[: V.shape[-1]].to(dtype), H @ horizontal[: H.shape[-1]].to(dtype)], dim=-1
        )
        return result + embedded.to(leaves.dtype)


def vertical_counts(A: Tensor, deeper: Tensor, batch: TreeBatch, rows: int, convention: Convention) -> Tensor:
    """``[B, H, m, min(rows, depth)]``: how much of each row of the vertical table node i gathers.

    A branch (i, j) meets row k if leaf j lies deep enough: a column of ``deeper [B, H, m, depth + 2]``, the
    sums of A over the leaves of at least that depth.
    """
    exact = _exact_rows(rows, batch.depth)
    if convention == "paper":
        columns = batch.shared(depth_columns, exact)[:, None].expand(*A.shape[:2], -1, -1)
        counts = deeper.gather(-1, columns)
    else:
        counts = deeper[..., 1 : exact + 1] * batch.shared(rows_below, exact)[:, None]
    return _with_last_row(counts, A, batch, saturates=rows < batch.depth)


def horizontal_counts(A: Tensor, before: Tensor, batch: TreeBatch, rows: int) -> Tensor:
    """``[B, H, m, min(rows, n)]``: how much of each row of the horizontal table node i gathers.

    ``before [B, H, m, exact]`` counts all ancestors of the leaves, those above node i too. Those cover all of
    i, so their share is a correlation of row i of A with where they start: a product of Fourier transforms.
    """
    size = _transform_size(batch.n)
    above = torch.fft.irfft(torch.fft.rfft(A, size) * batch.shared(starts_above, size)[:, None], size)
    return _with_last_row(before - above[..., : before.shape[-1]], A, batch, saturates=rows < batch.n)


def scales(batch: TreeBatch, convention: Convention, dtype: torch.dtype) -> Tensor:
    """``[B, m, n]``: 1 / (leaves of i · length of branch (i, j)), 0 where j is not under i."""
    products = branch_lengths(batch, convention) * batch.leaf_counts[:, :, None]
    return products.to(dtype).reciprocal().masked_fill(~batch.covers, 0)


def below(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, m, m]``: 1 where node t is in the subtree of node i."""
    return batch.subtree.to(dtype)


def covering(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, m, n]``: 1 where leaf j is in the subtree of node t."""
    return batch.covers.to(dtype)


def leaf_facts(batch: TreeBatch, rows: int) -> Tensor:
    """``[B, n, (depth + 2) + rows]``: how deep each leaf lies, and which places it takes.

    1 where leaf j has at least k = 0 … depth + 1 nodes above it; the number of nodes above j under which it
    is leaf number k = 1 … rows.
    """
    deeper = batch.leaf_depths[..., None] >= torch.arange(batch.depth + 2, device=batch.device)
    leaf = torch.arange(batch.n, device=batch.device)
    place = (leaf - batch.spans[..., :1]).clamp(0, rows).mT
    places = torch.zeros(len(batch), batch.n, rows + 1, dtype=COUNTING, device=batch.device)
    places.scatter_add_(2, place, batch.covers.mT.to(COUNTING))
    return torch.cat([deeper.to(COUNTING), places[..., :rows]], dim=-1)


def depth_columns(batch: TreeBatch, rows: int) -> Tensor:
    """``[B, m, rows]``: how deep a leaf under node i lies at least if its branch meets row k = 1 … rows."""
    row = torch.arange(1, rows + 1, device=batch.device)
    return (batch.node_depths[..., None] + row).clamp(max=batch.depth + 1)


def rows_below(batch: TreeBatch, rows: int) -> Tensor:
    """``[B, m, rows]``: 1 where row k = 1 … rows stands for a depth at or below node i."""
    row = torch.arange(1, rows + 1, device=batch.device)
    return (row > batch.node_depths[..., None]).to(COUNTING)


def branch_numbers(batch: TreeBatch) -> Tensor:
    """``[B, m, n]`` branch sizes as numbers to multiply with."""
    return batch.branch_sizes.to(COUNTING)


def starts_above(batch: TreeBatch, size: int) -> Tensor:
    """``[B, m, size / 2 + 1]``: how many nodes above node i start at each leaf, transformed, conjugated."""
    ancestors = batch.subtree.mT.to(COUNTING) - torch.eye(batch.m, dtype=COUNTING, device=batch.device)
    start = batch.spans[:, None, :, 0].expand(-1, batch.m, -1)
    counts = torch.zeros(len(batch), batch.m, batch.n, dtype=COUNTING, device=batch.device)
    return torch.fft.rfft(counts.scatter_add_(2, start, ancestors), size).conj().resolve_conj()


def _mixture(A: Tensor, leaves: Tensor, B: Tensor, nodes: Tensor) -> Tensor:
    """``A @ leaves + B @ nodes``, ``[B, H, m, K]``; coefficients for all heads meet them in one product."""
    if A.shape[1] != 1:
        return A @ leaves + B @ nodes
    joined = torch.bmm(A[:, 0], leaves.transpose(1, 2).flatten(2))
    joined = torch.baddbmm(joined, B[:, 0], nodes.transpose(1, 2).flatten(2))
    return joined.unflatten(2, (leaves.shape[1], leaves.shape[3])).transpose(1, 2)


def _exact_rows(rows: int, bound: int) -> int:
    """How many rows of a table are met by exactly one place: all that occur, or all but the last."""
    return bound if bound <= rows else rows - 1


def _with_last_row(counts: Tensor, A: Tensor, batch: TreeBatch, *, saturates: bool) -> Tensor:
    """``counts`` and, where places run past the table, its last row: all cells but the counted ones."""
    if not saturates:
        return counts
    total = (A * batch.shared(branch_numbers)[:, None]).sum(-1, keepdim=True)
    return torch.cat([counts, total - counts.sum(-1, keepdim=True)], dim=-1)


def _transform_size(length: int) -> int:
    """The power of two that holds ``length``: nodes above i start no later than i, so nothing wraps."""
    return 1 << (length - 1).bit_length()
