"""The parser's network on a CPU by onnxruntime: it computes what `ParserNetwork` does, without torch."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from treeformer.chunking import split_by_sizes
from treeformer.parsing.analysis import Analysis
from treeformer.parsing.chart import best_splits, spans_of
from treeformer.parsing.onnx_graph import Graph
from treeformer.parsing.onnx_layers import Layers, Weights
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.word_batch import WordBatch

_START, _END, _PADDING, _FIRST_FORM = range(4)  # rows of the table of what a sentence consists of
_SHORT = 128  # biases of sentences up to this size are kept


class OnnxNetwork:
    """The network as two sessions: the scores of a batch, and the labels of its chosen spans.

    Args:
        sizes: of the network.
        weights: in float32, by their names in `ParserNetwork`.
        threads: threads that share a product of matrices.
        int8: compute the encoder's products in 8 bits, see `Layers`.
    """

    def __init__(
        self, sizes: NetworkSizes, weights: Weights, *, threads: int = 1, int8: bool = False
    ) -> None:
        self._sizes = sizes
        self._words, self._pieces = weights["word.weight"], weights["piece.weight"]
        self._shapes, self._distances = weights["shape.weight"], weights["distance.weight"]
        self._scores = _scores_session(sizes, weights, threads, int8)
        self._labels = _labels_session(weights, threads)
        self._kept_bias = lru_cache(_SHORT)(self._near_bias)

    def analyse(self, batch: WordBatch) -> Analysis:
        """Spans, labels and tags of each sentence of a batch."""
        brackets, tags, starts, ends = self.scores(batch)
        splits, positive = best_splits(brackets).tolist(), (brackets > 0).tolist()
        spans = list(map(spans_of, splits, positive, batch.lengths.tolist()))
        places = [(index, *span) for index, sentence_spans in enumerate(spans) for span in sentence_spans]
        sentence, start, end = np.array(places).T
        [labels] = self._labels.run(None, {"sums": starts[sentence, start] + ends[sentence, end]})
        return Analysis(spans, split_by_sizes(labels.tolist(), map(len, spans)), tags.tolist())

    def scores(self, batch: WordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``[B, n + 1, n + 1]`` scores of brackets, ``[B, n]`` tags, and two ``[B, n + 1, d]`` of gaps.

        The last two are the shares of a gap in the label of a span that starts there, and that ends there.
        """
        pieces = np.add.reduceat(self._pieces[batch.pieces], batch.offsets)
        vectors = np.concatenate([self._words[batch.known], pieces + self._shapes[batch.shapes]], axis=1)
        lengths = batch.lengths[:, None]
        size = int(lengths.max()) + 2
        places = np.arange(size)
        rows = np.full((len(lengths), size), _PADDING)
        rows[:, 0] = _START
        rows[places == lengths + 1] = _END
        rows[(places > 0) & (places <= lengths)] = batch.rows + _FIRST_FORM
        bias = self._kept_bias(size) if size <= _SHORT else self._near_bias(size)
        if lengths.min() < lengths.max():
            padding = np.where(places < lengths + 2, np.float32(0), np.float32(-np.inf))
            bias = bias + padding[:, None, None]
        brackets, tags, starts, ends = self._scores.run(
            None, {"vectors": vectors, "rows": rows, "bias": bias}
        )
        return brackets, tags, starts, ends

    def _near_bias(self, size: int) -> np.ndarray:
        """``[1, H, size, size]``: learned attention scores of distances."""
        place = np.arange(size)
        rows = distance_rows(place[None, :] - place[:, None], self._sizes.distances)
        return np.ascontiguousarray(self._distances[rows].transpose(2, 0, 1)[None])


def distance_rows(distance: np.ndarray, rows: int) -> np.ndarray:
    """Rows of the table of signed distances: exact when near, logarithmic when far, clipped at 128."""
    size = np.abs(distance)
    exact = rows // 2
    octaves = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact)) / np.float32(
        math.log(128 / exact)
    )
    far = exact + (octaves * np.float32(rows - exact)).astype(np.int64)
    row = np.where(size < exact, size, np.minimum(far, rows - 1))
    return np.where(distance < 0, row + rows, row)


def _scores_session(sizes: NetworkSizes, weights: Weights, threads: int, int8: bool) -> Any:
    """The session behind `OnnxNetwork.scores`."""
    graph = Graph({"vectors": "float32", "rows": "int64", "bias": "float32"})
    layers = Layers(graph, weights, sizes.heads)
    encoder = Layers(graph, weights, sizes.heads, int8=int8)
    attention = partial(encoder.attention, bias="bias")
    marks = np.concatenate([weights["marks"], np.zeros((1, sizes.width), np.float32)])
    table = graph.add("Concat", graph.constant(marks), layers.linear("vectors", "input"), axis=0)
    states = graph.add("Gather", table, "rows", axis=0)
    for number in range(sizes.layers):
        states = encoder.encoder_layer(states, attention, f"encoder.layers.{number}", "pre")
    states = layers.norm(states, "encoder.last_norm")
    tags = graph.add("ArgMax", layers.linear(layers.cut(states, 1, -1), "tag"), axis=2, keepdims=0)
    ahead, back = graph.add("Split", states, outputs=2, axis=2, num_outputs=2)
    gaps = graph.add("Concat", layers.cut(ahead, 0, -1), layers.cut(back, 1, None), axis=2)
    first, second = np.split(weights["label.0.weight"], 2, axis=1)
    outputs = {
        "brackets": _brackets(graph, layers, gaps, weights["bracket"]),
        "tags": tags,
        "starts": layers.product(gaps, first.T, weights["label.0.bias"]),
        "ends": layers.product(gaps, second.T),
    }
    return graph.session(outputs, threads=threads)


def _brackets(graph: Graph, layers: Layers, gaps: str, matrix: np.ndarray) -> str:
    """``[left, 1] matrix [right, 1]ᵀ / √width`` without the columns of ones."""
    left, right = (graph.add("Gelu", layers.linear(gaps, f"{side}.0")) for side in ("left", "right"))
    width = len(matrix) - 1
    matrix = matrix * np.float32(1 / math.sqrt(width))
    product = layers.product(left, matrix[:-1], matrix[-1])
    parts = graph.constant(np.array([width, 1]))
    inner, constant = graph.add("Split", product, parts, outputs=2, axis=2)
    scores: str = graph.add("MatMul", inner, graph.add("Transpose", right, perm=[0, 2, 1]))
    return str(graph.add("Add", scores, constant))


def _labels_session(weights: Weights, threads: int) -> Any:
    """A session that returns the best label of each span, from the sum of the shares of its gaps."""
    graph = Graph({"sums": "float32"})
    scores = Layers(graph, weights, heads=1).linear(graph.add("Gelu", "sums"), "label.3")
    return graph.session({"labels": graph.add("ArgMax", scores, axis=1, keepdims=0)}, threads=threads)
