"""Hierarchical accumulation as the paper writes it, step by step, in whole tensors ``[B, H, m, n, K]``."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, Operands, branch_lengths


def accumulate(operands: Operands) -> Tensor:
    """``[B, H, m, K]`` accumulated node values, computed in float32 at least."""
    dtype = torch.promote_types(operands.leaves.dtype, torch.float32)
    wide = [value.to(dtype) if isinstance(value, Tensor) else value for value in operands]
    with torch.autocast(operands.leaves.device.type, enabled=False):
        return branches(Operands(*wide)).sum(3).to(operands.leaves.dtype)  # type: ignore[arg-type]


def branches(operands: Operands) -> Tensor:
    """``[B, H, m, n, K]``: what the branch down to leaf j adds to the value of node i."""
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    covers = batch.covers[:, None, :, :, None]
    # interpolate: a node sends its value to all cells (t, j) of its leaves
    cells = torch.where(covers, nodes[:, :, :, None, :], 0)
    if vertical is not None and horizontal is not None:
        embeddings = cell_embeddings(batch, vertical, horizontal, convention)
        cells = cells + torch.where(covers, embeddings[:, None], 0)
    # average upwards: leaf j and the cells on the branch from node i down to it
    sums = torch.einsum("bit,bhtjk->bhijk", batch.subtree.to(cells.dtype), cells)
    averages = (leaves[:, :, None] + sums) / branch_lengths(batch, convention)[:, None, :, :, None]
    # aggregate: a node gathers the branches of its leaves, by their weights
    weighted = weights[:, :, None, :, None] * torch.where(covers, averages, 0)
    return weighted / batch.leaf_counts[:, None, :, None, None]


def cell_embeddings(batch: TreeBatch, vertical: Tensor, horizontal: Tensor, convention: Convention) -> Tensor:
    """``[B, m, n, K]`` hierarchical embedding of each cell (t, j)."""
    place = torch.arange(batch.n, device=batch.device) - batch.spans[..., :1]
    if convention == "paper":
        height = batch.branch_sizes - 1
    else:
        height = batch.node_depths[:, :, None].expand_as(batch.branch_sizes)
    rows = vertical[height.clamp(0, len(vertical) - 1)], horizontal[place.clamp(0, len(horizontal) - 1)]
    return torch.cat(rows, dim=-1)
