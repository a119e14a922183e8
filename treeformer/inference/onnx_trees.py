"""A tree classifier's network on a CPU by onnxruntime: it computes what the model does, without torch."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treeformer.data.examples import Columns
from treeformer.inference.onnx_composition import OnnxComposition, folds_of
from treeformer.inference.onnx_encoder import OnnxEncoder
from treeformer.inference.tree_sizes import TreeSizes
from treeformer.inference.tree_structure import TreeStructure
from treeformer.parsing.onnx_graph import Graph
from treeformer.parsing.onnx_layers import Layers, Weights

Floats = NDArray[np.float32]
_PADDING = 1  # the row of the table of tokens for padding, as in the vocabulary


class Scores(NamedTuple):
    """Logits of a batch."""

    parts: Floats  #: ``[B, n + m, classes]`` of leaves and nodes
    leaves: int  #: ``n``


class OnnxTreeNetwork:
    """The Tree Transformer with a classification head, as a session of onnxruntime.

    Args:
        sizes: of the network.
        weights: in float32, by their names in the model.
        encoder: gives the states of words, if the model reads them through one.
    """

    def __init__(self, sizes: TreeSizes, weights: Weights, encoder: OnnxEncoder | None = None) -> None:
        self._sizes = sizes
        self._encoder = encoder
        if encoder is not None:
            mix = np.exp(weights["encoder.pretrained.mix"] - weights["encoder.pretrained.mix"].max())
            self._mix = mix / mix.sum()
            self._linear = (
                weights["encoder.pretrained.linear.weight"].T,
                weights["encoder.pretrained.linear.bias"],
            )
        self._composition = OnnxComposition(weights) if sizes.composed else None
        self._table = weights["encoder.embedding.weight"] * np.float32(math.sqrt(sizes.d_model))
        self._session = _session(sizes, weights)
        self._positions = lru_cache(64)(lambda length: sinusoids(length, sizes.d_model))

    def scores(self, columns: Columns) -> Scores:
        """The logits of every leaf and node of these examples, padded to the longest."""
        ids, leaf_mask = columns.input_ids.padded(_PADDING)
        node_ids, node_mask = columns.node_ids.padded(0)
        spans, _ = columns.node_spans.padded(0)
        trees = TreeStructure.of(spans.reshape(*node_ids.shape, 2), leaf_mask, node_mask)
        leaves = self._table[ids] if self._encoder is None else self._words(columns, ids.shape[1])
        nodes = self._table[node_ids + self._sizes.vocab_size]
        if self._composition is not None:
            nodes = self._composed(leaves, nodes, trees)
        states = np.concatenate([leaves + self._positions(ids.shape[1]), nodes], axis=1)
        inputs = {"states": states, "bias": trees.bias(subtree=self._sizes.subtree_mask)}
        if self._sizes.accumulate:
            inputs |= _accumulation_inputs(self._sizes, trees)
        [parts] = self._session.run(None, inputs)
        return Scores(parts, ids.shape[1])

    def _words(self, columns: Columns, width: int) -> Floats:
        """``[B, n, d]``: vectors of words from the encoder, zeros in the padding."""
        assert self._encoder is not None
        states = self._encoder.word_states(columns, width)
        matrix, bias = self._linear
        return np.einsum("l,bnlw->bnw", self._mix, states) @ matrix + bias

    def _composed(self, leaves: Floats, labels: Floats, trees: TreeStructure) -> Floats:
        """``[B, m, d]``: states of nodes composed from leaves without positions; zeros in the padding."""
        assert self._composition is not None
        B, n, d = leaves.shape
        spans = [rows[mask] for rows, mask in zip(trees.spans, trees.node_mask, strict=True)]
        folds = folds_of(spans, [row * n for row in range(B)], B * n)
        nodes = np.zeros(labels.shape, np.float32)
        composed = self._composition.nodes(leaves.reshape(B * n, d), labels[trees.node_mask], folds)
        nodes[trees.node_mask] = composed
        return nodes


@lru_cache(64)
def _widths(leaves: int, nodes: int) -> NDArray[np.int64]:
    return np.array([leaves, nodes])


def _accumulation_inputs(sizes: TreeSizes, trees: TreeStructure) -> dict[str, NDArray[Any]]:
    """What accumulation reads of the trees; see `_node_values`."""
    covers = trees.covers.astype(np.float32)
    inputs: dict[str, NDArray[Any]] = {
        "widths": _widths(trees.n, trees.m),
        "scales": trees.scales(sizes.convention)[:, None],
        "covers": covers,
        "subtree": trees.subtree.astype(np.float32),
    }
    if sizes.hierarchical_embeddings:
        heights, places = trees.cell_rows(sizes.convention)
        inputs["heights"] = heights.clip(0, sizes.vertical_rows - 1)
        inputs["places"] = places.clip(0, sizes.horizontal_rows - 1)
    return inputs


def _session(sizes: TreeSizes, weights: Weights) -> Any:
    """The session behind `OnnxTreeNetwork.scores`."""
    kinds = {"states": "float32", "bias": "float32"}
    if sizes.accumulate:
        kinds |= {"widths": "int64", "scales": "float32", "covers": "float32", "subtree": "float32"}
        if sizes.hierarchical_embeddings:
            kinds |= {"heights": "int64", "places": "int64"}
    graph = Graph(kinds)
    layers = _TreeLayers(graph, weights, sizes)
    states = "states"
    for number in range(sizes.encoder_layers):
        name = f"encoder.stack.layers.{number}"
        states = layers.encoder_layer(states, layers.tree_attention, name, sizes.norm)
    if sizes.norm == "pre":
        states = layers.norm(states, "encoder.stack.last_norm")
    return graph.session({"logits": layers.linear(states, "classifier")})


class _TreeLayers(Layers):
    """Layers with tree attention, computed as `treeformer.ops.naive` writes it."""

    def __init__(self, graph: Graph, weights: Weights, sizes: TreeSizes) -> None:
        super().__init__(graph, weights, sizes.attention_heads)
        self._sizes = sizes

    def tree_attention(self, states: str, name: str) -> str:
        """Self-attention whose node values are accumulated."""
        queries, keys, values = self.projected(states, name)
        if self._sizes.accumulate:
            leaves, nodes = self._parts(values, axis=2)
            nodes = self._node_values(states, leaves, nodes, f"{name}.accumulation")
            values = self._graph.add("Concat", leaves, nodes, axis=2)
        return self.attend(queries, keys, values, "bias", name)

    def _parts(self, states: str, axis: int) -> list[str]:
        """The states of leaves and those of nodes."""
        parts: list[str] = self._graph.add("Split", states, "widths", outputs=2, axis=axis)
        return parts

    def _node_values(self, states: str, leaves: str, nodes: str, name: str) -> str:
        """``[B, H, m, K]``: ``A leaves + B nodes`` and embeddings; see `treeformer.ops.matrix`."""
        graph = self._graph
        leaf_states, _ = self._parts(states, axis=1)
        bias = self._weights.get(f"{name}.leaf_weight.bias")
        weights = self.product(leaf_states, self._weights[f"{name}.leaf_weight.weight"].T, bias)
        by_leaf = self._unsqueezed(graph.add("Transpose", weights, perm=[0, 2, 1]), 2)
        A = graph.add("Mul", "scales", by_leaf)  # [B, H or 1, m, n]
        covering = self._unsqueezed(graph.add("Transpose", "covers", perm=[0, 2, 1]), 1)
        B = graph.add("Mul", self._unsqueezed("subtree", 1), graph.add("MatMul", A, covering))
        values = graph.add("Add", graph.add("MatMul", A, leaves), graph.add("MatMul", B, nodes))
        if self._sizes.hierarchical_embeddings:
            by_row = graph.add("MatMul", self._unsqueezed(A, 3), self._branch_embeddings(name))
            values = graph.add("Add", values, graph.add("Squeeze", by_row, self._axis(3)))
        return str(values)

    def _branch_embeddings(self, name: str) -> str:
        """``[B, 1, m, n, K]``: the sum of the embeddings of the cells on the branch from i to j."""
        graph = self._graph
        rows = [
            graph.add("Gather", graph.constant(self._weights[f"{name}.{table}"]), places)
            for table, places in (("vertical", "heights"), ("horizontal", "places"))
        ]
        cells = graph.add("Mul", graph.add("Concat", *rows, axis=3), self._unsqueezed("covers", 3))
        flat = graph.add("Reshape", cells, graph.constant(np.array([0, 0, -1])))
        sums = graph.add("MatMul", "subtree", flat)
        return self._unsqueezed(graph.add("Reshape", sums, graph.add("Shape", cells)), 1)

    def _unsqueezed(self, value: str, axis: int) -> str:
        return str(self._graph.add("Unsqueeze", value, self._axis(axis)))

    def _axis(self, axis: int) -> str:
        return self._graph.constant(np.array([axis]))


def sinusoids(length: int, d_model: int) -> Floats:
    """``[length, d]`` vectors of positions: sines in the even places and cosines in the odd ones."""
    frequency = np.exp(np.arange(0, d_model, 2, dtype=np.float32) * np.float32(-math.log(10000.0) / d_model))
    angle = np.arange(length, dtype=np.float32)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, -1)[:, :d_model]
