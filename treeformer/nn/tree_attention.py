"""Attention over the leaves and nodes of trees, with hierarchical accumulation in the node values."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer.nn.accumulation import HierarchicalAccumulation
from treeformer.nn.attention import MultiHeadAttention, Record, additive
from treeformer.nn.packing import can_pack, packed, packing_of, spread_heads, unpacked
from treeformer.ops import Convention, Implementation, TreeBatch
from treeformer.ops.cells import cells_of, line_of, pairs_of


class TreeAttention(MultiHeadAttention):
    """Multi-head attention over ``[leaves ; nodes]``.

    Keys and queries are plain projections; so are the values of leaves. The value of a node accumulates what
    lies below it. In self-attention a node sees its subtree and a leaf sees the leaves (the subtree mask).

    >>> from treeformer import Tree, TreeBatch
    >>> batch = TreeBatch.from_trees([Tree.from_brackets("(S (NP (DT the) (NN cat)) (VBZ sleeps))")])
    >>> attention = TreeAttention(d_model=64, heads=4)
    >>> states = torch.randn(len(batch), batch.n + batch.m, 64)  # 3 leaves, then 2 nodes in post-order
    >>> attention(states, batch).shape  # self-attention
    torch.Size([1, 5, 64])
    >>> attention.cross(torch.randn(1, 7, 64), states, batch).shape  # 7 target words look at the tree
    torch.Size([1, 7, 64])

    Args:
        d_model: width of the states.
        heads: number of heads.
        dropout: dropout on the attention weights.
        vertical_rows, horizontal_rows: sizes of the two tables of hierarchical embeddings.
        convention: ``paper``, or ``released`` for the authors' code.
        accumulate: False leaves node values as they are, without hierarchical embeddings (an ablation).
        hierarchical_embeddings: False leaves them out (an ablation).
        subtree_mask: False lets everything see everything in self-attention (an ablation).
        implementation: how accumulation is computed, see `treeformer.ops.accumulate`.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        dropout: float = 0.0,
        vertical_rows: int = 50,
        horizontal_rows: int = 100,
        convention: Convention = "paper",
        accumulate: bool = True,
        hierarchical_embeddings: bool = True,
        subtree_mask: bool = True,
        implementation: Implementation = "auto",
    ) -> None:
        super().__init__(d_model, heads, dropout=dropout)
        self.subtree_mask = subtree_mask
        self.accumulation = (
            HierarchicalAccumulation(
                d_model,
                heads,
                vertical_rows=vertical_rows,
                horizontal_rows=horizontal_rows,
                hierarchical_embeddings=hierarchical_embeddings,
                convention=convention,
                implementation=implementation,
            )
            if accumulate
            else None
        )

    def forward(self, states: Tensor, batch: TreeBatch, *, record: Record = None) -> Tensor:
        """Self-attention ``[B, n + m, d]``. States in the padding never matter.

        Args:
            states: ``[B, n + m, d]`` states of leaves and nodes; or packed ``[P, d]``, see `packing`, which
                is what is returned then.
            batch: the trees, padded to the same ``n`` and ``m``.
            record: a list that receives attention weights and leaf weights; not with packed states.
        """
        if states.ndim == 2:
            return self._attend_packed(states, batch)
        check_positions(states, batch)
        if record is None and self.subtree_mask and can_pack(batch):
            leaves, nodes = states.split([batch.n, batch.m], dim=1)
            return unpacked(self._attend_packed(packed(leaves, nodes, batch), batch), batch)
        states = zero_padding(states, batch)
        queries, keys, values = self.project(states)
        leaf_weights = None
        if self.accumulation is not None:
            values, leaf_weights = self.accumulation(values, states, batch)
        bias = batch.shared(subtree_bias if self.subtree_mask else padding_bias, queries.dtype)
        attended = self.attend(queries, keys, values, bias, record=record)
        if record is not None:
            record[-1] = record[-1]._replace(leaf_weights=leaf_weights)
        return attended

    def _attend_packed(self, states: Tensor, batch: TreeBatch) -> Tensor:
        """Self-attention ``[P, d]`` under the subtree mask: leaves among themselves, then nodes.

        Leaves see no node, so this is less work than all with all. On a GPU it would be one launch more.
        """
        projected = self.input(states)
        leaf_queries, queries, leaf_keys, keys, leaves, nodes = spread_heads(projected, batch, self.heads)
        dtype = projected.dtype
        if self.accumulation is not None:
            weights = self.accumulation.weights(states).index_select(1, batch.shared(packing_of).leaf_rows)
            weights = weights.unflatten(1, (len(batch), batch.n)).transpose(0, 1)
            nodes = self.accumulation.accumulated(leaves, nodes, weights, batch)
        values = torch.cat([leaves.transpose(1, 2), nodes.transpose(1, 2)], dim=1).transpose(1, 2)
        attended = packed(
            self.mix(leaf_queries, leaf_keys, leaves, batch.shared(leaf_bias, dtype)),
            self.mix(queries, keys, values, batch.shared(node_bias, dtype)),
            batch,
        )
        return self.output(attended)

    def cross(
        self,
        targets: Tensor,
        memory: Tensor,
        batch: TreeBatch,
        *,
        record: Record = None,
    ) -> Tensor:
        """Cross-attention ``[B, q, d]`` of ``targets [B, q, d]`` to tree states ``memory [B, n + m, d]``."""
        keys, values, _ = self.read_memory(memory, batch)
        bias = batch.shared(padding_bias, keys.dtype)
        return self.attend(self.project_queries(targets), keys, values, bias, record=record)

    def read_memory(self, memory: Tensor, batch: TreeBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keys and accumulated values ``[B, H, n + m, K]`` of ``memory [B, n + m, d]``, and leaf weights."""
        memory = zero_padding(memory, batch)
        keys, values = self.project_memory(memory)
        if self.accumulation is None:
            return keys, values, None
        values, leaf_weights = self.accumulation(values, memory, batch)
        return keys, values, leaf_weights


def check_positions(states: Tensor, batch: TreeBatch) -> None:
    """Refuse states that are not one for each leaf and node."""
    if states.shape[:2] != batch.mask.shape:
        raise ValueError(
            f"states: expected {batch.n} leaves and {batch.m} nodes for each of {len(batch)} trees, "
            f"got a shape {list(states.shape)}"
        )


def zero_padding(states: Tensor, batch: TreeBatch) -> Tensor:
    """``states [B, n + m, d]`` with zeros in padding: 0 · NaN would be NaN."""
    check_positions(states, batch)
    return states.masked_fill(batch.padding[..., None], 0)


def subtree_bias(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, 1, n + m, n + m]``: the subtree mask as a bias."""
    return additive(batch.visible[:, None], dtype)


def leaf_bias(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, 1, 1, n]``: what a leaf sees of the leaves, as a bias."""
    return additive(batch.leaf_mask[:, None, None], dtype)


def node_bias(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, 1, m, n + m]``: the rows of nodes in the subtree mask, as a bias."""
    cells, pairs = batch.shared(cells_of), batch.shared(pairs_of)
    B, n, m, line = len(batch), batch.n, batch.m, line_of(batch)
    bias = torch.full((B * m * line,), -torch.inf, dtype=dtype, device=batch.device)
    for places in (cells.places, pairs.places):
        bias.scatter_(0, places, bias.new_zeros(len(places)))
    bias = bias.view(B, 1, m, line)[..., : n + m]
    bias[:, 0, :, n:].diagonal(dim1=1, dim2=2).zero_()  # padded nodes see themselves: no row is empty
    return bias


def padding_bias(batch: TreeBatch, dtype: torch.dtype) -> Tensor:
    """``[B, 1, 1, n + m]``: the padding mask as a bias."""
    return additive(batch.mask[:, None, None], dtype)
