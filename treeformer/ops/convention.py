"""The two conventions of accumulation: the paper's, and that of the authors' released code.

| | ``paper`` | ``released`` |
| --- | --- | --- |
| a branch is averaged over | its nodes and its leaf | its nodes |
| vertical row of node t above leaf j | nodes from t down to j | depth of t from the root, from 1 |
| leaf weights | one for all heads, no bias | one per head, with a bias |
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from torch import Tensor

from treeformer.ops.batch import TreeBatch

Convention = Literal["paper", "released"]


class Operands(NamedTuple):
    """What every implementation accumulates; see `treeformer.ops.accumulate`. All of it is finite."""

    leaves: Tensor
    nodes: Tensor
    weights: Tensor
    batch: TreeBatch
    vertical: Tensor | None
    horizontal: Tensor | None
    convention: Convention


def check_convention(convention: str) -> None:
    """Refuse an unknown convention."""
    if convention not in get_args(Convention):
        raise ValueError(f"convention: expected one of {', '.join(get_args(Convention))}, got {convention!r}")


def branch_lengths(batch: TreeBatch, convention: Convention) -> Tensor:
    """``[B, m, n]`` integers: over how many cells the branch (i, j) is averaged, 1 at least."""
    lengths = batch.branch_sizes
    if convention == "paper":
        lengths = lengths + 1  # the leaf
    return lengths.clamp(min=1)
