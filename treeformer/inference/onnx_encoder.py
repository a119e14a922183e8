"""States of words from a BERT encoder by onnxruntime: what transformers computes, without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeformer.data.examples import Columns
from treeformer.encoders import encoder_sha256, find
from treeformer.encoders.linking import NO_WORD
from treeformer.encoders.weights import bert_shapes
from treeformer.model_folder import check_finite, read_config, stored_tensors, weight_files
from treeformer.parsing.onnx_graph import Graph
from treeformer.parsing.onnx_layers import Layers, Weights

Floats = NDArray[np.float32]
_USUAL = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_NEEDED = {
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("max_position_embeddings", "type_vocab_size", "layer_norm_eps"),
}


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a BERT encoder."""

    heads: int
    epsilon: float
    width: int


class OnnxEncoder:
    """Layers of a BERT encoder as a session of onnxruntime.

    Args:
        config: of the encoder, see `bert_config`.
        weights: by their names in its file.
        layers: those whose states are returned.
    """

    def __init__(self, config: dict[str, Any], weights: Weights, layers: Sequence[int]) -> None:
        sizes = _Sizes(config["num_attention_heads"], config["layer_norm_eps"], config["hidden_size"])
        self._words = weights["embeddings.word_embeddings.weight"]
        types = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions = weights["embeddings.position_embeddings.weight"] + types
        self._layers = len(layers)
        self._session = _session(sizes, weights, layers)

    def word_states(self, columns: Columns, words: int) -> Floats:
        """``[B, words, L, W]``: the mean of the states of the pieces of each word; zeros for padding."""
        assert columns.piece_ids is not None
        assert columns.piece_words is not None
        assert columns.window_sizes is not None
        sizes = columns.window_sizes.values.astype(np.int64)
        longest = int(sizes.max())
        inside = np.arange(longest) < sizes[:, None]
        ids = np.zeros(inside.shape, np.int64)
        ids[inside] = columns.piece_ids.values
        embedded = self._words[ids] + self._positions[:longest]
        bias = np.where(inside, np.float32(0), np.float32(-np.inf))[:, None, None]
        layers: Any = np.stack(self._session.run(None, {"states": embedded, "bias": bias}), axis=2)
        states: Floats = layers[inside]  # [pieces, L, W]
        rows = len(columns.window_sizes.lengths)
        text = np.repeat(np.arange(rows), columns.piece_ids.lengths)
        word = columns.piece_words.values.astype(np.int64)
        present = word != NO_WORD
        place = (text * words + word)[present]
        order = np.argsort(place, kind="stable")
        places, starts, counts = np.unique(place[order], return_index=True, return_counts=True)
        sums = np.add.reduceat(states[present][order], starts)
        means = np.zeros((rows * words, *states.shape[-2:]), np.float32)
        means[places] = sums / counts[:, None, None]
        return means.reshape(rows, words, *states.shape[-2:])


def read_encoder(name: str, sha256: str, layers: Sequence[int]) -> OnnxEncoder | None:
    """The encoder of this name; None if it is missing, has changed, or needs transformers."""
    try:
        folder = find(name)
    except FileNotFoundError:
        return None
    config, files = read_config(folder), weight_files(folder)
    if any(config.get(key, usual) != usual for key, usual in _USUAL.items()) or len(files) != 1:
        return None
    if not config.keys() >= _NEEDED:
        return None
    stored = stored_tensors(files)
    if any(name not in stored or stored[name].shape != shape for name, shape in bert_shapes(config).items()):
        return None
    if encoder_sha256(folder) != sha256 or max(layers) > config["num_hidden_layers"]:
        return None
    return OnnxEncoder(config, _weights(files[0]), layers)


def _weights(path: Path) -> Weights:
    """The weights of an encoder in float32."""
    from safetensors.numpy import load_file

    weights = {name: array.astype(np.float32, copy=False) for name, array in load_file(path).items()}
    check_finite(path, weights)
    return weights


def _session(sizes: _Sizes, weights: Weights, layers: Sequence[int]) -> Any:
    """The session behind `OnnxEncoder.word_states`; one output for each of ``layers``."""
    graph = Graph({"states": "float32", "bias": "float32"})
    bert = _BertLayers(graph, weights, sizes)
    states = [bert.norm("states", "embeddings.LayerNorm")]
    for number in range(max(layers)):
        states.append(bert.layer(states[-1], f"encoder.layer.{number}"))
    return graph.session({f"layer-{layer}": states[layer] for layer in layers})


class _BertLayers(Layers):
    """Layers of BERT, by the names that transformers gives their weights."""

    def __init__(self, graph: Graph, weights: Weights, sizes: _Sizes) -> None:
        super().__init__(graph, weights, sizes.heads, epsilon=sizes.epsilon)
        self._sizes = sizes

    def layer(self, states: str, name: str) -> str:
        """Self-attention and a feed-forward net with GELU, each around a residual and before a norm."""
        graph, heads = self._graph, self._sizes.heads
        shape = graph.constant(np.array([0, 0, heads, self._sizes.width // heads]))
        queries, keys, values = (
            graph.add("Reshape", self.linear(states, f"{name}.attention.self.{part}"), shape)
            for part in ("query", "key", "value")
        )
        queries, values = (graph.add("Transpose", part, perm=[0, 2, 1, 3]) for part in (queries, values))
        turned = graph.add("Transpose", keys, perm=[0, 2, 3, 1])
        scale = graph.constant(np.array(1 / math.sqrt(self._sizes.width // heads), np.float32))
        scores = graph.add("Mul", graph.add("MatMul", queries, turned), scale)
        weights = graph.add("Softmax", graph.add("Add", scores, "bias"), axis=-1)
        attended = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        joined = graph.add("Reshape", attended, graph.constant(np.array([0, 0, self._sizes.width])))
        states = self._residual(states, joined, f"{name}.attention.output")
        inner = graph.add("Gelu", self.linear(states, f"{name}.intermediate.dense"))
        return self._residual(states, inner, f"{name}.output")

    def _residual(self, states: str, inner: str, name: str) -> str:
        """``LayerNorm(states + linear(inner))``."""
        added = self._graph.add("Add", states, self.linear(inner, f"{name}.dense"))
        return self.norm(added, f"{name}.LayerNorm")
