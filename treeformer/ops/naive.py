"""Hierarchical accumulation as the paper writes it, step by step, in whole tensors ``[B, H, m, n, K]``."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, branch_lengths


def accumulate(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    batch: TreeBatch,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    convention: Convention,
) -> Tensor:
    """``[B, H, m, K]`` accumulated node values, computed in float32 at least."""
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        steps = _steps(
            leaves.to(dtype),
            nodes.to(dtype),
            weights.to(dtype),
            batch,
            None if vertical is None else vertical.to(dtype),
            None if horizontal is None else horizontal.to(dtype),
            convention,
        )
    return steps.to(leaves.dtype)


def _steps(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    batch: TreeBatch,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    convention: Convention,
) -> Tensor:
    """The four steps: interpolate, embed, average upwards, aggregate."""
    return branches_of(leaves, nodes, weights, batch, vertical, horizontal, convention).sum(3)


def branches_of(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    batch: TreeBatch,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    convention: Convention,
) -> Tensor:
    """``[B, H, m, n, K]``: what the branch down to leaf j adds to the value of node i."""
    covers = batch.covers[:, None, :, :, None]
    cells = torch.where(covers, nodes[:, :, :, None, :], 0)
    if vertical is not None and horizontal is not None:
        cells = cells + torch.where(covers, _embeddings(batch, vertical, horizontal, convention)[:, None], 0)
    averages = _upward_averages(leaves, cells, batch, convention)
    weighted = weights[:, :, None, :, None] * averages
    return weighted / batch.leaf_counts[:, None, :, None, None]


def _embeddings(batch: TreeBatch, vertical: Tensor, horizontal: Tensor, convention: Convention) -> Tensor:
    """``[B, m, n, K]`` hierarchical embedding of each cell (t, j)."""
    place = torch.arange(batch.n, device=batch.device) - batch.spans[..., :1]
    if convention == "paper":
        height = batch.branch_sizes - 1
    else:
        height = batch.node_depths[:, :, None].expand_as(batch.branch_sizes)
    return torch.cat(
        [
            vertical[height.clamp(0, vertical.shape[0] - 1)],
            horizontal[place.clamp(0, horizontal.shape[0] - 1)],
        ],
        dim=-1,
    )


def _upward_averages(leaves: Tensor, cells: Tensor, batch: TreeBatch, convention: Convention) -> Tensor:
    """``[B, H, m, n, K]`` average of leaf j and of the cells on the branch from node i down to it."""
    sums = torch.einsum("bit,bhtjk->bhijk", batch.subtree.to(cells.dtype), cells)
    averages = (leaves[:, :, None] + sums) / branch_lengths(batch, convention)[:, None, :, :, None]
    return torch.where(batch.covers[:, None, :, :, None], averages, 0)
