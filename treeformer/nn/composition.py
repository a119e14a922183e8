"""Composition: states of phrases from those of their children and their labels, by a gated cell."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.bilstm import at_positions
from treeformer.nn.lstm_cell import at_least_float32, init_gates, linear_with_biases
from treeformer.nn.recurrence import Climber, at_places, climb, climb_in_order, flat_leaves, steps_of
from treeformer.ops import TreeBatch
from treeformer.ops.folding import folded


class GatedCell(nn.Module):
    """The state of two children and a label: gates choose what is kept of each child and what is new.

    ``[f₁, f₂, g, u] = W₂ · dropout(gelu(W₁ · [left; right; label]))``, and the state is
    ``LayerNorm(σ(f₁) · left + σ(f₂) · right + σ(g) · u)``. A missing right child counts as zeros.

    Args:
        d_model: width of children, labels and states.
        inner_dim: width between W₁ and W₂, None for 2 · d_model.
        dropout: between W₁ and W₂.
    """

    slots = 2  #: the left child, and the right one

    def __init__(self, d_model: int, inner_dim: int | None = None, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.d_model = d_model
        self.inner_dim = 2 * d_model if inner_dim is None else inner_dim
        self.children_in = nn.Linear(2 * d_model, self.inner_dim, bias=False)  # with label_in: W₁
        self.label_in = nn.Linear(d_model, self.inner_dim, bias=False)
        self.bias = nn.Parameter(torch.empty(self.inner_dim))
        self.dropout = nn.Dropout(dropout)
        self.gates = nn.Linear(self.inner_dim, 4 * d_model)  # W₂
        self.norm = nn.LayerNorm(d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear in (self.children_in, self.label_in):
            init_gates(linear, 3 * self.d_model, self.inner_dim)
        nn.init.xavier_uniform_(self.gates.weight)
        for bias in (self.bias, self.gates.bias):
            nn.init.zeros_(bias)

    def read_labels(self, labels: Tensor) -> Tensor:
        """``[..., inner]``: the share of ``labels [..., d]`` and the bias in W₁ · [left; right; label]."""
        return linear_with_biases(self.label_in, at_least_float32(labels), self.bias)

    def message(self, child: Tensor) -> Tensor:
        """``[..., d]``: the state of a child, in float32 at least."""
        return at_least_float32(child)

    def update(self, inbox: Tensor, labels: Tensor) -> Tensor:
        """States ``[K, d]`` over the children ``inbox [K, 2 d]``, with ``labels [K, inner]`` as read."""
        inner = F.gelu(linear_with_biases(self.children_in, inbox) + labels)
        gates = linear_with_biases(self.gates, self.dropout(inner), self.gates.bias)
        keep_left, keep_right, let_in, new = gates.chunk(4, dim=-1)
        left, right = inbox.chunk(2, dim=-1)
        mixed = keep_left.sigmoid() * left + keep_right.sigmoid() * right + let_in.sigmoid() * new
        return self.norm(mixed.to(self.norm.weight.dtype))


class TreeComposition(Climber):
    """States of the nodes, composed from the leaves up by a `GatedCell`.

    A node over k children applies the cell k − 1 times, from left to right, with its label each time; a node
    over one child applies it once, with zeros as the right child. Leaves and labels should have variance 1,
    as scaled embeddings have: the states do, by the norm.

    Args:
        d_model, inner_dim, dropout: settings of the cell.
    """

    def __init__(self, d_model: int, inner_dim: int | None = None, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.cell = GatedCell(d_model, inner_dim, dropout=dropout)

    def forward(self, leaves: Tensor, labels: Tensor, batch: TreeBatch) -> Tensor:
        """States ``[B, m, d]`` of nodes; zeros in the padding.

        Args:
            leaves: ``[B, n, d]``, without positions.
            labels: ``[B, m, d]`` vectors of the nodes' labels.
            batch: the trees, of any arity.
        """
        if torch.compiler.is_compiling():
            return self._in_order(leaves, labels, batch)
        order, places = batch.shared(_folds)
        folds = batch.shared(folded).batch
        labels = labels.masked_fill(~batch.node_mask[..., None], 0).flatten(0, 1)
        inputs = self.cell.read_labels(labels).index_select(0, order)
        sizes = [len(level) for level in folds.shared(steps_of, self.cell.slots).nodes]
        states = climb(self.cell, self.cell.message(flat_leaves(leaves, batch)), folds, inputs.split(sizes))
        return at_places(states, places, batch.node_mask).to(leaves.dtype)

    def _in_order(self, leaves: Tensor, labels: Tensor, batch: TreeBatch) -> Tensor:
        """What `forward` returns, fold by fold; see `climb_in_order`."""
        folds, nodes, tops = folded(batch)
        inputs = at_positions(self.cell.read_labels(labels), nodes)
        messages = self.cell.message(flat_leaves(leaves, batch))
        [states] = climb_in_order(self.cell, messages, folds, inputs)
        composed = at_positions(states, tops).masked_fill(~batch.node_mask[..., None], 0)
        return composed.to(leaves.dtype)


def _folds(batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """The node of each fold in the order of levels, and the place ``[B, m]`` of each node's last fold."""
    folds, nodes, tops = batch.shared(folded)
    steps = folds.shared(steps_of, GatedCell.slots)
    tree = torch.arange(len(batch), device=batch.device)[:, None]
    numbers = torch.cat(steps.nodes).clamp(max=nodes.numel() - 1)  # any node for an empty place
    return (tree * batch.m + nodes).flatten()[numbers], steps.places.gather(1, tops)
