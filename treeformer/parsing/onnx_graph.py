"""Graphs in the ONNX format, written without the package ``onnx``, for onnxruntime to compute."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_IR_VERSION, _OPSET, _MICROSOFT_OPSET = 10, 21, 1
_MICROSOFT = "com.microsoft"  # the domain of operators that only onnxruntime has
_TENSOR_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_FLOAT, _INT, _INTS = 1, 2, 7  # types of attributes


class Graph:
    """A graph that is built node by node. Values are known by name.

    >>> graph = Graph({"x": "float32"})
    >>> doubled = graph.add("Mul", "x", graph.constant(np.array(2, np.float32)))
    >>> session = graph.session({"y": doubled})
    >>> session.run(None, {"x": np.array([1.5], np.float32)})
    [array([3.], dtype=float32)]

    Args:
        inputs: types of the inputs by name, such as ``float32``. Their shapes are free.
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        self._inputs = dict(inputs)
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, value: np.ndarray) -> str:
        """A tensor that is stored in the graph."""
        name = f"constant-{len(self._constants)}"
        content = np.ascontiguousarray(value)
        dims = b"".join(_integer(1, size) for size in value.shape)
        kind = _integer(2, _TENSOR_TYPES[value.dtype.name])
        self._constants.append(dims + kind + _text(8, name) + _part(9, content.tobytes()))
        return name

    def add(
        self, kind: str, *inputs: str, outputs: int = 1, microsoft: bool = False, **attributes: Any
    ) -> Any:
        """Add a node; returns the name of its output, or a list if it has several.

        Args:
            kind: the operator, such as ``MatMul``.
            inputs: names of values; an empty name leaves out an optional input.
            outputs: number of outputs.
            microsoft: whether it is one of onnxruntime's operators.
            attributes: integers, lists of integers, or floats.
        """
        number = len(self._nodes)
        names = [f"{kind}-{number}-{output}" for output in range(outputs)]
        parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in names]
        parts += [_text(4, kind)]
        parts += [_part(5, _attribute(name, value)) for name, value in attributes.items()]
        parts += [_text(7, _MICROSOFT)] if microsoft else []
        self._nodes.append(b"".join(parts))
        return names[0] if outputs == 1 else names

    def serialised(self, outputs: Mapping[str, str]) -> bytes:
        """The model as bytes.

        Args:
            outputs: the value of each output by its name; all are float32.
        """
        nodes = [*self._nodes]
        nodes += [_text(1, value) + _text(2, name) + _text(4, "Identity") for name, value in outputs.items()]
        graph = b"".join(
            [
                *(_part(1, node) for node in nodes),
                _text(2, "graph"),
                *(_part(5, tensor) for tensor in self._constants),
                *(_part(11, _value(name, kind)) for name, kind in self._inputs.items()),
                *(_part(12, _value(name, "")) for name in outputs),
            ]
        )
        opsets = _part(8, _integer(2, _OPSET))
        opsets += _part(8, _text(1, _MICROSOFT) + _integer(2, _MICROSOFT_OPSET))
        return _integer(1, _IR_VERSION) + _part(7, graph) + opsets

    def session(self, outputs: Mapping[str, str], *, threads: int = 1) -> Any:
        """A session of onnxruntime that computes these outputs on the CPU.

        Threads wait passively: those that spin slow down everything else on the machine.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        content = self.serialised(outputs)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _value(name: str, kind: str) -> bytes:
    """A description of an input or output; outputs need no type."""
    content = _text(1, name)
    if kind:
        content += _part(2, _part(1, _integer(1, _TENSOR_TYPES[kind])))
    return content


def _attribute(name: str, value: float | int | Sequence[int]) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _integer(20, _FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, _INT)
    return _text(1, name) + b"".join(_integer(8, one) for one in value) + _integer(20, _INTS)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _integer(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


def _text(number: int, value: str) -> bytes:
    return _part(number, value.encode())


def _part(number: int, content: bytes) -> bytes:
    return _key(number, 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers are stored as their two's complement
    content = bytearray()
    while value >= 0x80:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)
