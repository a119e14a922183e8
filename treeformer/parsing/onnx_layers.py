"""Layers of a Transformer as nodes of an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from treeformer.parsing.onnx_graph import Graph

Weights = Mapping[str, np.ndarray]
_LAST = 2**62  # the end of a slice up to the last position


class Layers:
    """Adds layers to a graph. States are values of the graph, by name.

    Args:
        graph: where the nodes are added.
        weights: by the names that torch gives them.
        heads: number of heads of every attention.
        int8: multiply integers of 8 bits: weights are rounded row by row, inputs tensor by tensor.
        epsilon: of the norms.
    """

    def __init__(
        self, graph: Graph, weights: Weights, heads: int, *, int8: bool = False, epsilon: float = 1e-5
    ) -> None:
        self._graph = graph
        self._weights = weights
        self._heads = heads
        self._int8 = int8
        self._epsilon = epsilon

    def linear(self, states: str, name: str) -> str:
        """The linear map of this name."""
        if self._int8:
            return self._int8_linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])
        return self.product(states, self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])

    def _int8_linear(self, states: str, matrix: np.ndarray, bias: np.ndarray) -> str:
        scales = np.maximum(np.abs(matrix).max(1) / np.float32(127), np.float32(1e-12))
        rounded = np.ascontiguousarray(np.round(matrix / scales[:, None]).astype(np.int8).T)
        parts = [rounded, scales, np.zeros(len(scales), np.int8), bias]
        constants = [self._graph.constant(part) for part in parts]
        return str(self._graph.add("DynamicQuantizeMatMul", states, *constants, microsoft=True))

    def product(self, states: str, matrix: np.ndarray, bias: np.ndarray | None = None) -> str:
        """``states @ matrix + bias``."""
        product: str = self._graph.add("MatMul", states, self._graph.constant(matrix))
        return product if bias is None else str(self._graph.add("Add", product, self._graph.constant(bias)))

    def norm(self, states: str, name: str) -> str:
        """Layer normalisation."""
        parts = [self._graph.constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return str(self._graph.add("LayerNormalization", states, *parts, axis=-1, epsilon=self._epsilon))

    def cut(self, states: str, start: int, end: int | None) -> str:
        """``states[:, start:end]``."""
        bounds = (start, _LAST if end is None else end, 1)  # the last is the axis
        return str(self._graph.add("Slice", states, *(self._graph.constant(np.array([n])) for n in bounds)))

    def encoder_layer(self, states: str, attention: Callable[[str, str], str], name: str, norm: str) -> str:
        """Self-attention and a feed-forward net with ReLU, each around a residual.

        Args:
            states: ``[B, s, d]``.
            attention: adds self-attention of some states, with the weights of a name.
            name: of the layer.
            norm: ``pre`` or ``post``: whether the norms come before the sublayers or after the sums.
        """

        def feed_forward(states: str, name: str) -> str:
            inner = self._graph.add("Relu", self.linear(states, f"{name}.inner"))
            return self.linear(inner, f"{name}.outer")

        for part, sublayer in (("attention", attention), ("feed_forward", feed_forward)):
            normed = f"{name}.{part}_residual.norm"
            given = self.norm(states, normed) if norm == "pre" else states
            states = self._graph.add("Add", states, sublayer(given, f"{name}.{part}"))
            if norm == "post":
                states = self.norm(states, normed)
        return states

    def attention(self, states: str, name: str, bias: str) -> str:
        """Self-attention of several heads; ``bias [B or 1, heads, s, s]`` is added to the scores."""
        queries, keys, values = self.projected(states, name)
        return self.attend(queries, keys, values, bias, name)

    def projected(self, states: str, name: str) -> list[str]:
        """Queries, keys and values ``[B, heads, s, K]`` of ``states [B, s, d]``."""
        graph = self._graph
        head_width = self._width(name) // self._heads
        shape = graph.constant(np.array([0, 0, self._heads, head_width]))  # 0 keeps a size
        parts = graph.add("Split", self.linear(states, f"{name}.input"), outputs=3, axis=2, num_outputs=3)
        by_head = [graph.add("Reshape", part, shape) for part in parts]
        return [graph.add("Transpose", part, perm=[0, 2, 1, 3]) for part in by_head]

    def attend(self, queries: str, keys: str, values: str, bias: str, name: str) -> str:
        """Attended values ``[B, s, d]``, heads joined and projected."""
        graph = self._graph
        width = self._width(name)
        turned = graph.add("Transpose", keys, perm=[0, 1, 3, 2])
        scale = graph.constant(np.array(1 / math.sqrt(width // self._heads), np.float32))
        scores = graph.add("Mul", graph.add("MatMul", queries, turned), scale)
        weights = graph.add("Softmax", graph.add("Add", scores, bias), axis=-1)
        attended = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        joined = graph.add("Reshape", attended, graph.constant(np.array([0, 0, width])))
        return self.linear(joined, f"{name}.output")

    def _width(self, name: str) -> int:
        """The width of the states of an attention."""
        return len(self._weights[f"{name}.output.bias"])
