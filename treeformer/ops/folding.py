"""Trees of any arity as binary trees: the children of a node are folded from left to right."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from treeformer.ops.batch import TreeBatch
from treeformer.ops.levels import (
    child_counts,
    current_limits,
    first_leaves,
    first_nodes,
    leaf_parents,
    node_parents,
)


class Folded(NamedTuple):
    """A batch of trees whose nodes, the *folds*, have one or two children.

    A node over k > 1 children becomes k − 1 folds: of the first two children, of that fold and the third
    child, and so on. A node over one child stays one fold.
    """

    batch: TreeBatch  #: the folds, f of them for the largest tree
    nodes: Tensor  #: ``[B, f]`` the node that each fold belongs to; 0 where padded
    tops: Tensor  #: ``[B, m]`` the last fold of each node; 0 where padded


def folded(batch: TreeBatch) -> Folded:
    """The folds of a batch; call it through `TreeBatch.shared`.

    Trees with n leaves and m nodes have n − 1 folds and one more for each node over one child, so
    n + m − 1 at most. On a GPU the folds are padded to that number, which is known without waiting, or to
    what `known_limits` promises.
    """
    B, n, m = batch.spans.shape[0], batch.n, batch.m
    node = torch.arange(m, device=batch.device).expand(B, m)
    leaf_ends = torch.arange(1, n + 1, device=batch.device).expand(B, n)
    starts, ends = batch.spans.unbind(-1)
    # every child but the first ends a fold of its parent, and so does an only child
    nodes = torch.cat([batch.shared(leaf_parents).clamp(max=m - 1), batch.shared(node_parents), node], dim=1)
    fold_ends = torch.cat([leaf_ends, ends, ends], dim=1)
    real = torch.cat(
        [
            batch.leaf_mask & ~batch.shared(first_leaves),
            batch.node_mask & ~batch.shared(first_nodes),
            batch.shared(child_counts) == 1,
        ],
        dim=1,
    )
    counts = real.sum(1)
    limits = current_limits()
    reads_values = batch.device.type == "cpu" and not torch.compiler.is_compiling()
    if limits is not None:
        width = min(limits.folds, n + m - 1)
    else:
        width = int(counts.max()) if reads_values else n + m - 1
    # post-order: by end, then from small to large, then up the chain of nodes with one span
    keys = (fold_ends * (n + 1) - starts.gather(1, nodes)) * m + nodes
    order = keys.masked_fill(~real, torch.iinfo(keys.dtype).max).argsort(dim=1)[:, :width]
    mask = torch.arange(width, device=batch.device) < counts[:, None]
    nodes = nodes.gather(1, order).masked_fill(~mask, 0)
    fold_ends = fold_ends.gather(1, order)
    spans = torch.stack([starts.gather(1, nodes), fold_ends], dim=-1).masked_fill(~mask[..., None], 0)
    last = mask & (fold_ends == ends.gather(1, nodes))
    tops = nodes.new_zeros(B, m + 1)
    tops.scatter_(1, nodes.masked_fill(~last, m), torch.arange(width, device=batch.device).expand(B, width))
    return Folded(TreeBatch(spans, mask, batch.leaf_mask, depth=width), nodes, tops[:, :m])
