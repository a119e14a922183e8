"""Layers of a pre-norm Transformer as nodes of an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from treeformer.parsing.onnx_graph import Graph

_LAST = 2**62  # the end of a slice up to the last position


class Layers:
    """Adds layers to a graph. States are values of the graph, by name.

    Args:
        graph: where the nodes are added.
        weights: by the names that torch gives them.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, np.ndarray]) -> None:
        self._graph = graph
        self._weights = weights

    def linear(self, states: str, name: str) -> str:
        """The linear map of this name."""
        return self.product(states, self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])

    def product(self, states: str, matrix: np.ndarray, bias: np.ndarray | None = None) -> str:
        """``states @ matrix + bias``."""
        product: str = self._graph.add("MatMul", states, self._graph.constant(matrix))
        return product if bias is None else str(self._graph.add("Add", product, self._graph.constant(bias)))

    def norm(self, states: str, name: str) -> str:
        """Layer normalisation."""
        parts = [self._graph.constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return str(self._graph.add("LayerNormalization", states, *parts, axis=-1, epsilon=1e-5))

    def cut(self, states: str, start: int, end: int | None) -> str:
        """``states[:, start:end]``."""
        bounds = (start, _LAST if end is None else end, 1)  # the last is the axis
        return str(self._graph.add("Slice", states, *(self._graph.constant(np.array([n])) for n in bounds)))

    def encoder_layer(self, states: str, bias: str, name: str, heads: int) -> str:
        """Self-attention and a feed-forward net with ReLU, each after a norm and around a residual."""
        graph = self._graph
        normed = self.norm(states, f"{name}.attention_residual.norm")
        states = graph.add("Add", states, self.attention(normed, bias, f"{name}.attention", heads))
        normed = self.norm(states, f"{name}.feed_forward_residual.norm")
        inner = graph.add("Relu", self.linear(normed, f"{name}.feed_forward.inner"))
        return str(graph.add("Add", states, self.linear(inner, f"{name}.feed_forward.outer")))

    def attention(self, states: str, bias: str, name: str, heads: int) -> str:
        """Self-attention of several heads; ``bias [B or 1, heads, s, s]`` is added to the scores."""
        graph = self._graph
        width = len(self._weights[f"{name}.output.bias"])
        shape = graph.constant(np.array([0, 0, heads, width // heads]))  # 0 keeps a size
        parts = graph.add("Split", self.linear(states, f"{name}.input"), outputs=3, axis=2, num_outputs=3)
        by_head = [graph.add("Reshape", part, shape) for part in parts]
        queries, values = (graph.add("Transpose", by_head[part], perm=[0, 2, 1, 3]) for part in (0, 2))
        keys = graph.add("Transpose", by_head[1], perm=[0, 2, 3, 1])
        scale = graph.constant(np.array(1 / math.sqrt(width // heads), np.float32))
        scores = graph.add("Mul", graph.add("MatMul", queries, keys), scale)
        weights = graph.add("Softmax", graph.add("Add", scores, bias), axis=-1)
        attended = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        joined = graph.add("Reshape", attended, graph.constant(np.array([0, 0, width])))
        return self.linear(joined, f"{name}.output")
