"""Weights of a BERT in a TensorFlow checkpoint, under the names that transformers gives them.

A checkpoint is an index, a sorted table of LevelDB with one message per variable, and a file of raw data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from treeformer.encoders.protobuf import Message, varint

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER = 48  # bytes
_FLOAT = 1  # the data type float32
_RENAMED = (
    (re.compile(r"^(?:module/)?bert/"), ""),
    (re.compile(r"/layer_(\d+)/"), r"/layer/\1/"),
    (re.compile(r"/gamma$"), "/weight"),
    (re.compile(r"/beta$"), "/bias"),
    (re.compile(r"_embeddings$"), "_embeddings/weight"),
)


def read_checkpoint(index: Path) -> dict[str, np.ndarray]:
    """The float32 variables of a checkpoint, given its file ``NAME.index``; they stay on the disk."""
    data = Path(data_of(str(index)))
    content = np.memmap(data, dtype=np.uint8, mode="r")
    tensors = {}
    for key, value in _table(index):
        entry = Message(value, f"{index}: {key}")
        if not key or entry.integer(1) != _FLOAT:  # the entry without a name is the header
            continue
        shape = [Message(size, index.name).integer(1) for size in Message(entry.part(2), index.name).parts(2)]
        start, size = entry.integer(4), entry.integer(5)
        if start + size > len(content) or size != 4 * int(np.prod(shape, dtype=np.int64)):
            raise ValueError(f"{data}: {key} with shape {shape} is not complete there")
        values = content[start : start + size].view("<f4").reshape(shape)
        tensors[_transformers_name(key)] = values.T if key.endswith("/kernel") else values
    return tensors


def data_of(index: str) -> str:
    """The file with the values of a checkpoint, given its file ``NAME.index``."""
    return f"{index.removesuffix('.index')}.data-00000-of-00001"


def _transformers_name(name: str) -> str:
    """``bert/encoder/layer_0/output/dense/kernel`` as ``encoder.layer.0.output.dense.weight``."""
    for pattern, replacement in _RENAMED:
        name = pattern.sub(replacement, name)
    return re.sub(r"/kernel$", "/weight", name).replace("/", ".")


def _table(path: Path) -> Iterator[tuple[str, memoryview]]:
    """Keys and values of a sorted table of LevelDB without compression."""
    content = memoryview(path.read_bytes())
    if len(content) < _FOOTER or bytes(content[-len(_MAGIC) :]) != _MAGIC:
        raise ValueError(f"{path}: not the index of a TensorFlow checkpoint")
    try:
        _, after_statistics = _handle(content[-_FOOTER:])
        index, _ = _handle(content[-_FOOTER + after_statistics :])
        for _, position in _entries(content, index):
            block, _ = _handle(position)
            for key, value in _entries(content, block):
                yield key.decode("utf-8", "replace"), value
    except IndexError:
        raise ValueError(f"{path}: the index is damaged or compressed") from None


def _handle(content: memoryview) -> tuple[slice, int]:
    """Where a block is, and the number of bytes that say so."""
    start, position = varint(content, 0)
    size, position = varint(content, position)
    return slice(start, start + size), position


def _entries(content: memoryview, place: slice) -> Iterator[tuple[bytes, memoryview]]:
    """Keys and values of a block; a key is stored without the beginning that it shares with the last."""
    block = content[place]
    if content[place.stop] != 0:
        raise IndexError("the block is compressed")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise IndexError("the block is too short")
    key, position = b"", 0
    while position < end:
        shared, position = varint(block, position)
        rest, position = varint(block, position)
        size, position = varint(block, position)
        if position + rest + size > end:
            raise IndexError("an entry longer than its block")
        key = key[:shared] + bytes(block[position : position + rest])
        position += rest
        yield key, block[position : position + size]
        position += size
