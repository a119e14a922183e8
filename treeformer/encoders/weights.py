"""The one form in which the weights of a BERT are stored, whatever they were read from.

The file has the tensors of the encoder itself: no pooler and no head, which some sources lack. They are
float32 and sorted by name, and the header has no other content, so equal weights give equal bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

Shape = tuple[int, ...]


def bert_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    """Names and shapes of the weights of a ``BertModel`` without pooler."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, Shape] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], width),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], width),
    }
    norms = ["embeddings.LayerNorm"]
    linear: dict[str, Shape] = {}
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear[f"{name}.attention.{part}"] = (width, width)
        linear[f"{name}.intermediate.dense"] = (inner, width)
        linear[f"{name}.output.dense"] = (width, inner)
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    return shapes


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file, by name."""
    try:
        with safe_open(path, framework="numpy") as stored:
            return {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, TypeError) as error:  # TypeError: numpy has no such type
        raise ValueError(f"{path}: not a valid safetensors file ({error})") from error


def plain_name(name: str) -> str:
    """The name in a ``BertModel`` of a weight that has the name of a model with a head, or of an old one."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def write_weights(path: Path, tensors: Mapping[str, np.ndarray], config: Mapping[str, Any]) -> None:
    """Write the weights of a BERT with this config; ValueError if ``tensors`` lacks some.

    Further tensors, such as a head, are left out.
    """
    shapes = bert_shapes(config)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    size = 0
    for name in sorted(shapes):
        _check(tensors, name, shapes[name], path)
        end = size + 4 * int(np.prod(shapes[name]))
        header[name] = {"dtype": "F32", "shape": list(shapes[name]), "data_offsets": [size, end]}
        size = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    try:
        with open(path, "wb") as stream:
            stream.write(len(text).to_bytes(8, "little") + text)
            for name in sorted(shapes):
                stream.write(np.ascontiguousarray(tensors[name], dtype="<f4").data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise OSError(error.errno, f"could not be written ({error.strerror})", str(path)) from error


def _check(tensors: Mapping[str, np.ndarray], name: str, shape: Shape, path: Path) -> None:
    if name not in tensors:
        raise ValueError(f"{path.name}: the source has no {name}, it is not the expected encoder")
    tensor = tensors[name]
    if tensor.shape != shape or tensor.dtype != np.float32:
        raise ValueError(
            f"{path.name}: {name} is {tensor.dtype} {list(tensor.shape)} in the source, "
            f"expected float32 {list(shape)}"
        )
