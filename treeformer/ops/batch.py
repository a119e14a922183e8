"""`TreeBatch`: the padded integer tensors of many trees, and what every layer derives from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from treeformer.ops.runs import runs_of
from treeformer.trees import Tree

T = TypeVar("T")


class derived(Generic[T]):  # noqa: N801  # a decorator, like property
    """A property of a batch that is computed once; see `TreeBatch.shared`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, batch: TreeBatch, owner: type) -> T:
        return batch.shared(self.compute)


@dataclass(frozen=True, eq=False)
class TreeBatch:
    """The structure of ``B`` trees, padded on the right to ``n`` leaves and ``m`` nodes.

    Nodes stand in post-order (children before parents), so the subtree of a node is a run of nodes that ends
    at it and a run of leaves, its span. Spans alone fix the trees, unary chains included.

    >>> trees = [Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))")]
    >>> batch = TreeBatch.from_trees(trees)
    >>> batch.n, batch.m, batch.spans.tolist()
    (4, 3, [[[0, 2], [2, 4], [0, 4]]])
    >>> batch.leaf_depths.tolist()
    [[2, 2, 2, 2]]
    """

    spans: Tensor  #: ``[B, m, 2]`` half-open spans of the nodes, (0, 0) where padded
    node_mask: Tensor  #: ``[B, m]`` True for nodes, False for padding
    leaf_mask: Tensor  #: ``[B, n]`` True for leaves, False for padding
    depth: int  #: no branch of the batch holds more nodes than this
    _shared: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> TreeBatch:
        """The batch of these trees, as wide as the largest of them."""
        trees = list(trees)
        if not trees:
            raise ValueError("trees: expected at least one tree, got none")
        if not isinstance(trees[0], Tree):
            raise ValueError(f"trees: expected trees, got {type(trees[0]).__name__}")
        n_leaves = torch.tensor([len(tree.words) for tree in trees])
        node_spans = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(tree.spans) for tree in trees], batch_first=True
        )
        n_nodes = torch.tensor([len(tree) for tree in trees])
        node_mask = torch.arange(node_spans.shape[1]) < n_nodes[:, None]
        leaf_mask = torch.arange(int(n_leaves.max())) < n_leaves[:, None]
        return cls(node_spans, node_mask, leaf_mask, depth=max(max(tree.leaf_depths) for tree in trees))

    @classmethod
    def from_spans(
        cls,
        node_spans: Tensor,
        node_mask: Tensor,
        n_leaves: Tensor,
        *,
        width: int | None = None,
        validate: bool = True,
    ) -> TreeBatch:
        """The batch of the trees with these spans.

        Args:
            node_spans: ``[B, m, 2]`` integers, half-open, in post-order, padded on the right with anything.
            node_mask: ``[B, m]``, true for real nodes.
            n_leaves: ``[B]`` integers, the number of leaves of each tree.
            width: the padded number of leaves ``n``; the largest of ``n_leaves`` by default.
            validate: check that the spans are trees. That reads values, so on a GPU it waits for the device.
        """
        _check_shapes(node_spans, node_mask, n_leaves)
        node_mask = node_mask.bool()
        width = int(n_leaves.max()) if width is None else width
        if width < 1:
            raise ValueError(f"width: expected at least 1 leaf, got {width}")
        leaf_mask = torch.arange(width, device=n_leaves.device) < n_leaves[:, None]
        spans = node_spans.long().masked_fill(~node_mask[:, :, None], 0)
        batch = cls(spans, node_mask, leaf_mask, depth=node_mask.shape[1])
        if not validate:
            return batch
        _check_trees(batch, n_leaves)
        depth = int(batch.shared(runs_of).leaf_depths.max())
        return cls(
            spans, node_mask, leaf_mask, depth, batch._shared
        )  # nothing shared so far depends on depth

    def __len__(self) -> int:
        return self.spans.shape[0]

    @property
    def n(self) -> int:
        """The padded number of leaves."""
        return self.leaf_mask.shape[1]

    @property
    def m(self) -> int:
        """The padded number of nodes."""
        return self.node_mask.shape[1]

    @property
    def device(self) -> torch.device:
        return self.spans.device

    def to(self, device: torch.device | str) -> TreeBatch:
        """The batch on another device. Derived tensors are computed there again."""
        return TreeBatch(
            self.spans.to(device), self.node_mask.to(device), self.leaf_mask.to(device), depth=self.depth
        )

    def shared(self, derive: Callable[..., T], *arguments: Hashable) -> T:
        """``derive(batch, *arguments)``, computed once for all layers.

        Its tensors are normal ones even in inference mode, so that training can use them later.
        """
        if torch.compiler.is_compiling():  # the compiler finds what is computed twice
            return derive(self, *arguments)
        key = (derive, *arguments)
        if key not in self._shared:
            with torch.inference_mode(False):
                self._shared[key] = derive(self, *arguments)
        return self._shared[key]

    @derived
    def mask(self) -> Tensor:
        """``[B, n + m]``, True for leaves and nodes, False for padding."""
        return torch.cat([self.leaf_mask, self.node_mask], dim=1)

    @derived
    def padding(self) -> Tensor:
        """``[B, n + m]``, True for padding."""
        return ~self.mask

    @derived
    def covers(self) -> Tensor:
        """``[B, m, n]``, True where leaf j is in the subtree of node i."""
        leaf = torch.arange(self.n, device=self.device)
        return (self.spans[..., :1] <= leaf) & (leaf < self.spans[..., 1:])

    @derived
    def subtree(self) -> Tensor:
        """``[B, m, m]``, True where node t is in the subtree of node i; a node is in its subtree.

        In post-order a node that comes before i and does not start before i lies under i.
        """
        node = torch.arange(self.m, device=self.device)
        start = self.spans[..., 0]
        within = (node[:, None] >= node) & (start[:, None, :] >= start[:, :, None])
        both = self.node_mask[:, :, None] & self.node_mask[:, None, :]
        return (within & both) | (node[:, None] == node)

    @derived
    def leaf_counts(self) -> Tensor:
        """``[B, m]`` integers, the number of leaves under each node, 1 where padded."""
        return (self.spans[..., 1] - self.spans[..., 0]).clamp(min=1)

    @derived
    def node_depths(self) -> Tensor:
        """``[B, m]`` integers, the number of nodes above each node."""
        return self.subtree.sum(1, dtype=torch.int32).long() - 1  # adding up as int32 is faster

    @derived
    def leaf_depths(self) -> Tensor:
        """``[B, n]`` integers, the number of nodes above each leaf."""
        return self.covers.sum(1, dtype=torch.int32).long()

    @derived
    def branch_sizes(self) -> Tensor:
        """``[B, m, n]`` integers, the number of nodes from node i down to leaf j, 0 where j is not under i.

        A branch is a run of ancestors, so its size is a difference of depths.
        """
        below = self.leaf_depths[:, None, :] - self.node_depths[:, :, None]
        return below.masked_fill(~self.covers, 0)

    @derived
    def visible(self) -> Tensor:
        """``[B, n + m, n + m]``, the subtree mask: True where a query (row) sees a key (column).

        A leaf sees all leaves of its example and no node; a node sees the leaves and nodes of its subtree.
        A padded node sees itself, so that no row is empty.
        """
        leaves = self.leaf_mask[:, None, :].expand(-1, self.n, -1)
        no_nodes = leaves.new_zeros(leaves.shape[0], self.n, self.m)
        return torch.cat(
            [torch.cat([leaves, no_nodes], dim=2), torch.cat([self.covers, self.subtree], dim=2)], dim=1
        )


def _check_shapes(node_spans: Tensor, node_mask: Tensor, n_leaves: Tensor) -> None:
    for name, value in (("node_spans", node_spans), ("node_mask", node_mask), ("n_leaves", n_leaves)):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: expected a tensor, got {type(value).__name__}")
    if node_spans.ndim != 3 or node_spans.shape[2] != 2:
        raise ValueError(f"node_spans: expected a shape [batch, nodes, 2], got {list(node_spans.shape)}")
    for name, tensor in (("node_spans", node_spans), ("n_leaves", n_leaves)):
        if tensor.dtype not in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
            raise ValueError(f"{name}: expected integers, got {tensor.dtype}")
    if node_spans.shape[0] == 0 or node_spans.shape[1] == 0:
        raise ValueError(f"node_spans: expected at least one tree and one node, got {list(node_spans.shape)}")
    if node_mask.shape != node_spans.shape[:2]:
        raise ValueError(
            f"node_mask: expected the shape {list(node_spans.shape[:2])} of node_spans, "
            f"got {list(node_mask.shape)}"
        )
    if n_leaves.shape != node_spans.shape[:1]:
        raise ValueError(
            f"n_leaves: expected one number for each of {node_spans.shape[0]} trees, "
            f"got a shape {list(n_leaves.shape)}"
        )


def _check_trees(batch: TreeBatch, n_leaves: Tensor) -> None:
    """Refuse spans that are no tree in post-order over all leaves; the error names the first wrong place."""
    start, end = batch.spans.unbind(-1)
    counts = batch.node_mask.sum(1)
    root = batch.spans[torch.arange(len(batch), device=batch.device), counts - 1]
    whole = torch.stack([torch.zeros_like(n_leaves), n_leaves], dim=1)
    # the ends of nodes never fall, and an earlier node lies left of a later one or does not start before it
    falls = torch.nn.functional.pad(end.diff(dim=1) < 0, (1, 0)) & batch.node_mask
    earlier = torch.ones(batch.m, batch.m, dtype=torch.bool, device=batch.device).tril(-1)
    crosses = (end[:, None, :] > start[:, :, None]) & (start[:, None, :] < start[:, :, None]) & earlier
    checks = [
        ((n_leaves < 1) | (n_leaves > batch.n), f"n_leaves: expected 1 to {batch.n} leaves", n_leaves),
        (
            batch.node_mask.int().diff(dim=1).gt(0).any(1) | (counts == 0),
            "node_mask: expected real nodes first, then padding, and one node at least",
            counts,
        ),
        (
            batch.node_mask & ((start < 0) | (start >= end) | (end > n_leaves[:, None])),
            "node_spans: expected 0 <= start < end <= number of leaves",
            batch.spans,
        ),
        ((root != whole).any(1), "node_spans: expected the last node, the root, to cover all leaves", root),
        (
            falls | crosses.any(2),
            "node_spans: expected spans that nest, children before parents",
            batch.spans,
        ),
    ]
    for wrong, expected, values in checks:
        if wrong.any():
            position = tuple(wrong.nonzero()[0].tolist())
            raise ValueError(f"{expected}, got {values[position].tolist()} at {list(position)}")
