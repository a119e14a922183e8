"""Weights of a BERT that was exported to ONNX, under the names that transformers gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treeformer.encoders.protobuf import Message

_FLOAT = 1  # the data type float32
_EXTERNAL = 1  # the data are in another file


class _Node(NamedTuple):
    """One operation of the graph."""

    kind: str
    inputs: list[str]
    outputs: list[str]


def read_onnx(content: bytes | memoryview, name: str) -> dict[str, np.ndarray]:
    """The float32 weights in an ONNX model, by name.

    Exporters keep the names of most weights but not those of the matrices of linear layers, which they
    transpose. A product with a matrix is followed by the addition of a bias, and the bias has a name.
    """
    graph = Message(Message(content, name).part(7), name)
    nodes = [_node(Message(node, name)) for node in graph.parts(1)]
    values = dict(_initial_values(graph, name))
    for node in nodes:  # equal weights are stored once
        if node.kind == "Identity" and node.inputs[0] in values:
            values[node.outputs[0]] = values[node.inputs[0]]
    tensors = {key: value for key, value in values.items() if not key.startswith("onnx::")}
    biases = _biases(nodes, values)
    for node in nodes:
        if node.kind == "MatMul" and node.inputs[1] in values and node.outputs[0] in biases:
            matrix = biases[node.outputs[0]].removesuffix(".bias") + ".weight"
            if matrix in tensors:
                raise ValueError(f"{name}: two matrices belong to the same bias, so {matrix} is unclear")
            tensors[matrix] = values[node.inputs[1]].T
    if not tensors:
        raise ValueError(f"{name}: no weights there, expected an ONNX model with float32 weights")
    return tensors


def _node(message: Message) -> _Node:
    return _Node(message.text(4), message.texts(1), message.texts(2))


def _initial_values(graph: Message, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """The float32 tensors stored in the graph."""
    for part in graph.parts(5):
        tensor = Message(part, name)
        if tensor.integer(2) != _FLOAT:
            continue
        key = tensor.text(8)
        if tensor.integer(14) == _EXTERNAL:
            raise ValueError(f"{name}: {key} is stored in another file, expected one file with all weights")
        content = tensor.part(9) if tensor.has(9) else b"".join(tensor.parts(4))
        yield key, _array(content, tensor.integers(1), f"{name}: {key}")


def _array(content: bytes | memoryview, shape: list[int], name: str) -> np.ndarray:
    if len(content) != 4 * int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{name}: {len(content)} bytes do not fit the shape {shape}")
    return np.frombuffer(content, dtype="<f4").reshape(shape)


def _biases(nodes: list[_Node], values: dict[str, np.ndarray]) -> dict[str, str]:
    """The name of the bias that is added to the output of a node, by the name of that output."""
    added = {}
    for node in nodes:
        if node.kind == "Add":
            for bias, output in (node.inputs, node.inputs[::-1]):
                if bias in values and bias.endswith(".bias"):
                    added[output] = bias
    return added
