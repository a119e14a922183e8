"""Composed states of nodes by onnxruntime: what `TreeComposition` computes, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treeformer.parsing.onnx_graph import Graph
from treeformer.parsing.onnx_layers import Layers, Weights

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


class Folds(NamedTuple):
    """The steps that compose the nodes of some trees; all children of a level are of levels before it.

    States are numbered: leaves, one of zeros, then the results of the steps in the order of levels.
    """

    levels: list[Integers]  #: ``[K, 3]`` numbers of the left child, the right child and the label
    tops: Integers  #: ``[N]`` numbers of the states of all nodes of all trees


def folds_of(spans: Sequence[Integers], first_leaves: Sequence[int], zeros: int) -> Folds:
    """The steps over these trees.

    A node over k children takes k − 1 steps, from left to right; one over a single child takes one step with
    zeros at its right.

    Args:
        spans: ``[m, 2]`` of the nodes of each tree, in post-order.
        first_leaves: the number of the first leaf of each tree.
        zeros: the number of the state of zeros.
    """
    steps: list[tuple[int, int, int]] = []  # children that are steps themselves are negative: −1 is the first
    heights: list[int] = []
    tops: list[int] = []
    for tree_spans, first in zip(spans, first_leaves, strict=True):
        stack: list[tuple[int, int, int]] = []  # start, state, height
        read = 0
        for start, end in tree_spans.tolist():
            stack += [(leaf, first + leaf, 0) for leaf in range(read, end)]
            read = max(read, end)
            place = len(stack)
            while place and stack[place - 1][0] >= start:
                place -= 1
            (_, state, height), *others = stack[place:]
            for _, other, other_height in others or [(0, zeros, 0)]:
                height = max(height, other_height) + 1
                steps.append((state, other, len(tops)))
                heights.append(height)
                state = -len(steps)
            stack[place:] = [(start, state, height)]
            tops.append(state)
    return _numbered(steps, heights, tops, zeros + 1)


def _numbered(steps: list[tuple[int, int, int]], heights: list[int], tops: list[int], offset: int) -> Folds:
    """The steps sorted by height, with the numbers of their states from ``offset`` on."""
    order = np.argsort(heights, kind="stable")
    numbers = np.empty(len(steps), np.int64)
    numbers[order] = offset + np.arange(len(steps))

    def renumbered(states: Integers) -> Integers:
        return np.where(states < 0, numbers[np.where(states < 0, -states - 1, 0)], states)

    table = np.array(steps)
    table[:, :2] = renumbered(table[:, :2])
    ends = np.cumsum(np.bincount(heights)[1:])[:-1]
    return Folds(np.split(table[order], ends), renumbered(np.array(tops)))


class OnnxComposition:
    """The gated cell as a session of onnxruntime.

    Args:
        weights: of the model, by name.
        name: of the cell.
    """

    def __init__(self, weights: Weights, name: str = "encoder.composition.cell") -> None:
        graph = Graph({"children": "float32", "labels": "float32"})
        layers = Layers(graph, weights, heads=1)
        inner = graph.add(
            "Add",
            layers.product("children", weights[f"{name}.children_in.weight"].T),
            layers.product("labels", weights[f"{name}.label_in.weight"].T, weights[f"{name}.bias"]),
        )
        gates = layers.linear(graph.add("Gelu", inner), f"{name}.gates")
        *keep, let_in, new = graph.add("Split", gates, outputs=4, axis=1, num_outputs=4)
        kept = [
            graph.add("Mul", graph.add("Sigmoid", gate), child)
            for gate, child in zip(
                keep, graph.add("Split", "children", outputs=2, axis=1, num_outputs=2), strict=True
            )
        ]
        fresh = graph.add("Mul", graph.add("Sigmoid", let_in), new)
        mixed = graph.add("Add", graph.add("Add", *kept), fresh)
        self._session: Any = graph.session({"states": layers.norm(mixed, f"{name}.norm")})

    def nodes(self, leaves: Floats, labels: Floats, folds: Folds) -> Floats:
        """``[N, d]`` states of all nodes, from those of leaves ``[L, d]`` and of labels ``[N, d]``."""
        d = leaves.shape[1]
        states = np.zeros((len(leaves) + 1 + sum(map(len, folds.levels)), d), np.float32)
        states[: len(leaves)] = leaves
        done = len(leaves) + 1
        for level in folds.levels:
            children = states[level[:, :2]].reshape(len(level), 2 * d)
            [states[done : done + len(level)]] = self._session.run(
                None, {"children": children, "labels": labels[level[:, 2]]}
            )
            done += len(level)
        return states[folds.tops]
