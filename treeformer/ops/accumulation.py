"""Hierarchical accumulation: node values gather what lies below them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from treeformer.ops import cells, compiled, matrix, naive
from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention, Operands, check_convention

Implementation = Literal["auto", "cells", "matrix", "compiled", "naive"]


def implementation_named(name: Implementation) -> Callable[[Operands], Tensor]:
    """The implementation called ``name``; ``auto`` is the fastest exact one for each batch."""
    implementations = {
        "auto": _fastest,
        "cells": cells.accumulate,
        "matrix": matrix.accumulate,
        "compiled": compiled.accumulate,
        "naive": naive.accumulate,
    }
    if name not in implementations:
        raise ValueError(f"implementation: expected one of {', '.join(implementations)}, got {name!r}")
    return implementations[name]


def _fastest(operands: Operands) -> Tensor:
    """By ``cells`` on a CPU, else by ``matrix``, or by ``compiled``, where no step may depend on sizes."""
    batch = operands.batch
    if torch.compiler.is_compiling():
        return compiled.accumulate(operands)
    if batch.device.type == "cpu" and cells.fits(batch):
        return cells.accumulate(operands)
    return matrix.accumulate(operands)


def accumulate(
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    batch: TreeBatch,
    vertical: Tensor | None = None,
    horizontal: Tensor | None = None,
    convention: Convention = "paper",
    implementation: Implementation = "auto",
) -> Tensor:
    """Node values with everything below them accumulated.

    Every node sends its value down its branches; each branch is averaged upwards from its leaf; a node
    gathers its branches, weighted by the weight of their leaves. docs/method.md has the derivation.

    Args:
        leaves: ``[B, H, n, K]`` values of the leaves.
        nodes: ``[B, H, m, K]`` values of the nodes.
        weights: ``[B, H, n]``, or ``[B, 1, n]`` for one weight for all heads.
        batch: the trees, padded to the same ``n`` and ``m``. Values in the padding never matter.
        vertical: ``[rows, K / 2]`` embeddings of the place of a node on its branch, or None for no
            hierarchical embeddings. Places beyond the table use its last row.
        horizontal: ``[rows, K / 2]`` embeddings of the place of a leaf under its node, with ``vertical``.
        convention: ``paper``, or ``released`` for the authors' code; see `treeformer.ops.convention`.
        implementation: ``auto``, ``cells``, ``matrix``, ``compiled`` or ``naive``; all give the same numbers.

    Returns ``[B, H, m, K]``, zero for padded nodes.

    >>> import torch
    >>> from treeformer import Tree, TreeBatch
    >>> batch = TreeBatch.from_trees([Tree.from_brackets("(S (NP (DT the) (NN cat)) (VBZ sleeps))")])
    >>> leaves = torch.tensor([2.0, 4.0, 6.0]).view(1, 1, 3, 1)
    >>> nodes = torch.tensor([10.0, 20.0]).view(1, 1, 2, 1)
    >>> accumulate(leaves, nodes, torch.ones(1, 1, 3), batch).flatten()
    tensor([ 6.5000, 11.6667])
    """
    _check(Operands(leaves, nodes, weights, batch, vertical, horizontal, convention))
    no_leaf, no_node = ~batch.leaf_mask[:, None], ~batch.node_mask[:, None]
    finite = Operands(
        leaves.masked_fill(no_leaf[..., None], 0),
        nodes.masked_fill(no_node[..., None], 0),
        weights.masked_fill(no_leaf, 0),
        batch,
        vertical,
        horizontal,
        convention,
    )
    return implementation_named(implementation)(finite)


def _check(operands: Operands) -> None:
    """Refuse operands whose shapes or dtypes do not match."""
    leaves, nodes, weights, batch, vertical, horizontal, convention = operands
    if leaves.ndim != 4:
        raise ValueError(f"leaves: expected a shape [batch, heads, leaves, width], got {list(leaves.shape)}")
    B, H, _, K = leaves.shape
    for name, tensor, shapes in (
        ("leaves", leaves, [[len(batch), H, batch.n, K]]),
        ("nodes", nodes, [[B, H, batch.m, K]]),
        ("weights", weights, [[B, 1, batch.n], [B, H, batch.n]]),
    ):
        if list(tensor.shape) not in shapes:
            expected = " or ".join(map(str, shapes))
            raise ValueError(f"{name}: expected a shape {expected}, got {list(tensor.shape)}")
    if leaves.dtype != nodes.dtype:
        raise ValueError(f"nodes: expected the dtype {leaves.dtype} of leaves, got {nodes.dtype}")
    if (vertical is None) != (horizontal is None):
        raise ValueError("vertical, horizontal: expected both tables or neither, got one")
    for name, table in (("vertical", vertical), ("horizontal", horizontal)):
        if table is not None and (table.ndim != 2 or table.shape[0] < 1 or table.shape[1] * 2 != K):
            raise ValueError(f"{name}: expected a shape [rows, {K / 2:g}], got {list(table.shape)}")
    check_convention(convention)
