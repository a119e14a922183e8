"""Subtrees as runs of nodes in post-order: counts and depths without a table of nodes times nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:  # a batch uses this itself
    from treeformer.ops.batch import TreeBatch


class Runs(NamedTuple):
    """The subtree of node i holds the nodes ``first[i] … i``."""

    first: Tensor  #: ``[B, m]`` the first node of each subtree
    sizes: Tensor  #: ``[B, m]`` the number of nodes of each subtree, 0 where padded
    node_depths: Tensor  #: ``[B, m]`` the number of nodes above each node
    leaf_depths: Tensor  #: ``[B, n]`` the number of nodes above each leaf


def runs_of(batch: TreeBatch) -> Runs:
    """The runs of a batch of trees; call it through `TreeBatch.shared`.

    Ends never fall in post-order. So before the subtree of a node come the nodes that end where it starts, or
    earlier. A depth is the number of runs, or of spans, around a place: a sum of where they begin and end.
    """
    B, n, m = len(batch), batch.n, batch.m
    starts, ends = batch.spans.unbind(-1)
    real = batch.node_mask.long()
    ended = real.new_zeros(B, n + 1).scatter_add_(1, ends, real).cumsum(1)
    first = ended.gather(1, starts)
    sizes = torch.arange(1, m + 1, device=batch.device).sub(first).mul_(real)
    around = real.new_zeros(B, m).scatter_add_(1, first.clamp(max=m - 1), real).cumsum(1)
    node_depths = around - real.cumsum(1)  # the run of a node ends at it
    around = real.new_zeros(B, n + 1).scatter_add_(1, starts, real).scatter_add_(1, ends, -real)
    return Runs(first, sizes, node_depths, around.cumsum(1)[:, :n])
