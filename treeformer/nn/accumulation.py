"""The trainable part of hierarchical accumulation: leaf weights and hierarchical embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.ops import Convention, Implementation, TreeBatch
from treeformer.ops.accumulation import implementation_named
from treeformer.ops.convention import Operands, check_convention


class HierarchicalAccumulation(nn.Module):
    """Node values that gather what lies below them.

    Args:
        d_model, heads: width of the states, and number of heads of the values.
        vertical_rows, horizontal_rows: sizes of the two tables, which all heads share.
        hierarchical_embeddings: False leaves the tables out.
        convention: see `treeformer.ops.convention`.
        implementation: see `treeformer.ops.accumulate`.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        vertical_rows: int = 50,
        horizontal_rows: int = 100,
        hierarchical_embeddings: bool = True,
        convention: Convention = "paper",
        implementation: Implementation = "auto",
    ) -> None:
        super().__init__()
        check_convention(convention)
        self.convention = convention
        self.accumulate = implementation_named(implementation)
        self.leaf_weight = (
            nn.Linear(d_model, 1, bias=False) if convention == "paper" else nn.Linear(d_model, heads)
        )
        self.vertical: nn.Parameter | None = None
        self.horizontal: nn.Parameter | None = None
        if hierarchical_embeddings:
            half, rest = divmod(d_model // heads, 2)
            if rest:
                raise ValueError(f"heads: expected an even head width, got {d_model} / {heads}")
            for name, rows in (("vertical_rows", vertical_rows), ("horizontal_rows", horizontal_rows)):
                if rows < 1:
                    raise ValueError(f"{name}: expected at least 1, got {rows}")
            self.vertical = nn.Parameter(torch.empty(vertical_rows, half))
            self.horizontal = nn.Parameter(torch.empty(horizontal_rows, half))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.leaf_weight.weight)
        if self.leaf_weight.bias is not None:
            nn.init.zeros_(self.leaf_weight.bias)
        for table in (self.vertical, self.horizontal):
            if table is not None:
                nn.init.normal_(table, std=0.02)

    def weights(self, leaf_states: Tensor) -> Tensor:
        """``[B, heads or 1, n]`` weights w of leaves with states ``[B, n, d]``, in float32 at least."""
        dtype = torch.promote_types(leaf_states.dtype, torch.float32)
        bias = self.leaf_weight.bias
        with torch.autocast(leaf_states.device.type, enabled=False):
            w = F.linear(
                leaf_states.to(dtype),
                self.leaf_weight.weight.to(dtype),
                None if bias is None else bias.to(dtype),
            )
        return w.mT

    def forward(self, values: Tensor, states: Tensor, batch: TreeBatch) -> tuple[Tensor, Tensor]:
        """Values ``[B, H, n + m, K]`` with those of the nodes accumulated, and the leaf weights.

        Args:
            values: ``[B, H, n + m, K]`` projected values of leaves and nodes, finite in padding.
            states: ``[B, n + m, d]`` states that they were projected from, finite in padding.
            batch: the trees.
        """
        weights = self.weights(states[:, : batch.n])
        operands = self.operands(values, weights, batch)
        return torch.cat([operands.leaves, self.accumulate(operands)], dim=2), weights

    def accumulated(self, leaves: Tensor, nodes: Tensor, weights: Tensor, batch: TreeBatch) -> Tensor:
        """``[B, H, m, K]`` accumulated values of nodes, from values and the weights of leaves."""
        return self.accumulate(
            Operands(leaves, nodes, weights, batch, self.vertical, self.horizontal, self.convention)
        )

    def operands(self, values: Tensor, weights: Tensor, batch: TreeBatch) -> Operands:
        """What is accumulated: leaves, nodes and their weights, with the two tables."""
        leaves, nodes = values[:, :, : batch.n], values[:, :, batch.n :]
        return Operands(leaves, nodes, weights, batch, self.vertical, self.horizontal, self.convention)
