"""Hierarchical accumulation as a plain loop over the nodes and leaves of one tree."""

from __future__ import annotations

import torch
from torch import Tensor

from treeformer import Tree


def branch(tree: Tree, node: int, leaf: int) -> list[int]:
    """The nodes from ``node`` down to ``leaf``, lowest first; empty if the leaf is not under the node."""
    path = []
    above = tree.leaf_parents[leaf]
    while above >= 0:
        path.append(above)
        if above == node:
            return path
        above = tree.parents[above]
    return []


def leaves_under(tree: Tree, node: int) -> list[int]:
    return [leaf for leaf in range(len(tree.words)) if branch(tree, node, leaf)]


def depth(tree: Tree, node: int) -> int:
    above, steps = tree.parents[node], 0
    while above >= 0:
        above, steps = tree.parents[above], steps + 1
    return steps


def accumulate(
    tree: Tree,
    leaves: Tensor,
    nodes: Tensor,
    weights: Tensor,
    vertical: Tensor | None,
    horizontal: Tensor | None,
    convention: str,
) -> Tensor:
    """``[m, K]`` for ``leaves [n, K]``, ``nodes [m, K]`` and ``weights [n]`` of one tree and one head."""
    under = [leaves_under(tree, node) for node in range(len(tree))]

    def cell(node: int, leaf: int) -> Tensor:
        if vertical is None or horizontal is None:
            return nodes[node]
        row = len(branch(tree, node, leaf)) if convention == "paper" else depth(tree, node) + 1
        place = under[node].index(leaf) + 1
        embedding = torch.cat(
            [vertical[min(row, len(vertical)) - 1], horizontal[min(place, len(horizontal)) - 1]]
        )
        return nodes[node] + embedding

    results = []
    for node in range(len(tree)):
        total = torch.zeros_like(leaves[0])
        for leaf in under[node]:
            path = branch(tree, node, leaf)
            summed = leaves[leaf] + sum(cell(on_branch, leaf) for on_branch in path)
            total = total + weights[leaf] * summed / (len(path) + (convention == "paper"))
        results.append(total / len(under[node]))
    return torch.stack(results)
