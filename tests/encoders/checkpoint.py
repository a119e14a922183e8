"""Write checkpoints as TensorFlow does: an index that is a table of LevelDB, and a file of values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

MAGIC = bytes.fromhex("57fb808b247547db")
ENTRIES = 7  # of a block
RESTART = 3  # entries until a key is stored whole again


def write_checkpoint(index: Path, weights: Mapping[str, np.ndarray], compression: int = 0) -> None:
    """Write the weights of a ``BertModel`` under TensorFlow's names, and a counter that is no weight."""
    index.parent.mkdir(parents=True, exist_ok=True)
    variables = {tensorflow_name(name): tensor for name, tensor in weights.items()}
    content = bytearray()
    entries = {b"": message((1, 1))}  # the header: one file of values
    for name in sorted([*variables, "global_step"]):
        if name == "global_step":
            values, kind = np.array(7, dtype="<i8"), 9
        else:
            kernel = name.endswith("/kernel")
            values, kind = (variables[name].T if kernel else variables[name]), 1
        shape = b"".join(part(2, message((1, size))) for size in values.shape)
        data = np.ascontiguousarray(values).tobytes()
        place = message((4, len(content)), (5, len(data)))
        entries[name.encode()] = message((1, kind)) + part(2, shape) + place + b"\x35" + bytes(4)  # a CRC
        content += data
    index.write_bytes(table(entries, bytes([compression]) + bytes(4)))
    index.with_suffix(".data-00000-of-00001").write_bytes(content)


def tensorflow_name(name: str) -> str:
    """``bert/encoder/layer_0/output/dense/kernel`` for ``encoder.layer.0.output.dense.weight``."""
    name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    name = name.replace("embeddings.weight", "embeddings").replace("dense.weight", "dense.kernel")
    for part_of_attention in ("query", "key", "value"):
        name = name.replace(f"{part_of_attention}.weight", f"{part_of_attention}.kernel")
    return "bert/" + name.replace("encoder.layer.", "encoder.layer_").replace(".", "/")


def table(entries: Mapping[bytes, bytes], ending: bytes) -> bytes:
    """A sorted table in blocks, with an index of blocks and no statistics; a block ends with how it is
    compressed and a CRC."""
    keys = sorted(entries)
    content, handles = b"", {}
    for start in range(0, len(keys), ENTRIES):
        chosen = keys[start : start + ENTRIES]
        written = block({key: entries[key] for key in chosen})
        handles[chosen[-1]] = varint(len(content)) + varint(len(written))
        content += written + ending
    footer = b""
    for written in (block({}), block(handles)):
        footer += varint(len(content)) + varint(len(written))
        content += written + ending
    return content + footer.ljust(40, b"\x00") + MAGIC


def block(entries: Mapping[bytes, bytes]) -> bytes:
    content, restarts, last = b"", [0], b""
    for number, (key, value) in enumerate(entries.items()):
        shared = 0
        if number % RESTART == 0:
            restarts += [len(content)] if number else []
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    numbers = [*restarts, len(restarts)]
    return content + b"".join(number.to_bytes(4, "little") for number in numbers)


def message(*fields: tuple[int, int]) -> bytes:
    """A protocol buffer of integers."""
    return b"".join(varint(number << 3) + varint(value) for number, value in fields)


def part(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that is a message itself."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    content = b""
    while value >= 0x80:
        content += bytes([value & 0x7F | 0x80])
        value >>= 7
    return content + bytes([value])
