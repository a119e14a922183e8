"""Hierarchical accumulation for torch.compile and torch.export: no step depends on the sizes of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.ops.convention import Operands, branch_lengths
from treeformer.ops.naive import cell_embeddings


def accumulate(operands: Operands) -> Tensor:
    """``[B, H, m, K]`` accumulated node values, computed in float32 at least.

    A is as in `treeformer.ops.matrix`. The embeddings E of all cells (t, j) are gathered by node i as
    ``Σ_t subtree(i, t) · (A E_t)(i)``, which needs memory for B · m · (n + m) · K numbers.
    """
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    dtype = torch.promote_types(leaves.dtype, torch.float32)
    with torch.autocast(leaves.device.type, enabled=False):
        covers, subtree = batch.covers[:, None], batch.subtree[:, None].to(dtype)
        lengths = branch_lengths(batch, convention) * batch.leaf_counts[:, :, None]
        A = weights.to(dtype)[:, :, None, :] * torch.where(covers, lengths[:, None].to(dtype).reciprocal(), 0)
        result = A @ leaves.to(dtype) + (subtree * (A @ covers.to(dtype).mT)) @ nodes.to(dtype)
        if vertical is not None and horizontal is not None:
            cells = cell_embeddings(batch, vertical, horizontal, convention).to(dtype)
            cells = torch.where(covers[:, 0, :, :, None], cells, 0)
            gathered = A @ cells.transpose(1, 2).flatten(2)[:, None]  # [B, H, i, t · K]
            gathered = gathered.unflatten(-1, (batch.m, leaves.shape[-1]))
            result = result + (subtree[..., None] * gathered).sum(3)
        return result.to(leaves.dtype)
