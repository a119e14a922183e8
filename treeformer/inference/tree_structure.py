"""The structure of trees as arrays: what `TreeBatch` derives, without torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


class TreeStructure(NamedTuple):
    """Trees padded to n leaves and m nodes; the names are those of `treeformer.ops.TreeBatch`."""

    spans: Integers  #: ``[B, m, 2]``, (0, 0) where padded
    leaf_mask: Booleans  #: ``[B, n]``
    node_mask: Booleans  #: ``[B, m]``
    covers: Booleans  #: ``[B, m, n]``, True where leaf j is in the subtree of node i
    subtree: Booleans  #: ``[B, m, m]``, True where node t is in the subtree of node i

    @classmethod
    def of(cls, spans: Integers, leaf_mask: Booleans, node_mask: Booleans) -> TreeStructure:
        """The structure of the trees with these spans, in post-order."""
        starts, ends = spans[..., :1], spans[..., 1:]
        leaf, node = np.arange(leaf_mask.shape[1]), np.arange(node_mask.shape[1])
        covers = (starts <= leaf) & (leaf < ends)
        within = (node[:, None] >= node) & (spans[:, None, :, 0] >= starts)
        both = node_mask[:, :, None] & node_mask[:, None, :]
        return cls(spans, leaf_mask, node_mask, covers, (within & both) | np.eye(len(node), dtype=bool))

    @property
    def n(self) -> int:
        """The padded number of leaves."""
        return self.leaf_mask.shape[1]

    @property
    def m(self) -> int:
        """The padded number of nodes."""
        return self.node_mask.shape[1]

    @property
    def node_depths(self) -> Integers:
        """``[B, m]``: the number of nodes above each node."""
        return self.subtree.sum(1) - 1

    @property
    def branch_sizes(self) -> Integers:
        """``[B, m, n]``: the number of nodes from node i down to leaf j, 0 where j is not under i."""
        below = self.covers.sum(1)[:, None, :] - self.node_depths[:, :, None]
        return np.where(self.covers, below, 0)

    def scales(self, convention: str) -> Floats:
        """``[B, m, n]``: 1 / (leaves of i · length of branch (i, j)), 0 where leaf j is not under i."""
        lengths = self.branch_sizes + (convention == "paper")  # the leaf counts in the paper
        counts = (self.spans[..., 1] - self.spans[..., 0])[..., None]
        return (self.covers / np.maximum(lengths * counts, 1)).astype(np.float32)

    def cell_rows(self, convention: str) -> tuple[Integers, Integers]:
        """``[B, m, n]`` each: the vertical and the horizontal row of each cell (t, j)."""
        places = np.arange(self.n) - self.spans[..., :1]
        if convention == "paper":
            return self.branch_sizes - 1, places
        return np.broadcast_to(self.node_depths[..., None], places.shape), places

    def bias(self, *, subtree: bool) -> Floats:
        """``[B, 1, n + m or 1, n + m]``: 0 where a query sees a key, −∞ elsewhere.

        Args:
            subtree: a leaf sees the leaves, a node its subtree; else everything sees everything.
        """
        if subtree:
            leaves = np.broadcast_to(self.leaf_mask[:, None, :], (len(self.spans), self.n, self.n))
            no_nodes = np.zeros((*leaves.shape[:2], self.m), bool)
            rows = [np.concatenate(row, axis=2) for row in ((leaves, no_nodes), (self.covers, self.subtree))]
            visible = np.concatenate(rows, axis=1)
        else:
            visible = np.concatenate([self.leaf_mask, self.node_mask], axis=1)[:, None]
        return np.where(visible, np.float32(0), np.float32(-np.inf))[:, None]
