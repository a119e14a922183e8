"""From the files of a source to the folder of an encoder, which is the same for all sources."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from treeformer.encoders.catalogue import CONFIG, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS, KnownEncoder
from treeformer.encoders.onnx import read_onnx
from treeformer.encoders.tensorflow import data_of, read_checkpoint
from treeformer.encoders.weights import plain_name, read_safetensors, write_weights
from treeformer.encoders.wordpiece import tokenizer_config, tokenizer_json, vocabulary_of
from treeformer.storage import json_bytes, sha256, write_file

_IN = "!"  # between an archive and a file in it


def convert(
    encoder: KnownEncoder, files: Path, weights: str, vocabulary: str, scratch: Path, output: Path
) -> None:
    """Make the folder of an encoder; ValueError if the result is not that encoder.

    Args:
        encoder: what is expected.
        files: the folder of the downloaded files.
        weights: the file with the weights in that folder, as in a `Source`.
        vocabulary: the file with the vocabulary, likewise.
        scratch: an empty folder for what is unpacked.
        output: the new folder.
    """
    config = encoder.config()
    tensors = {plain_name(name): tensor for name, tensor in _tensors(files, weights, scratch).items()}
    path = _unpacked(files, vocabulary, scratch)
    pieces = vocabulary_of(path.read_bytes(), path.name)
    output.mkdir()
    write_weights(output / WEIGHTS, tensors, config)
    write_file(output / TOKENIZER, tokenizer_json(pieces, lower_case=encoder.lower_case))
    for name, content in _settings(encoder).items():
        write_file(output / name, content)
    for name, expected in encoder.checksums.items():
        if (actual := sha256(output / name)) != expected:
            raise ValueError(
                f"{weights}: this is not {encoder.model}: the SHA-256 of {name} becomes {actual}, "
                f"expected {expected}"
            )


def expected_checksums(encoder: KnownEncoder) -> dict[str, str]:
    """The checksums of all files of an encoder."""
    settings = {name: hashlib.sha256(content).hexdigest() for name, content in _settings(encoder).items()}
    return {**settings, **encoder.checksums}


def _settings(encoder: KnownEncoder) -> dict[str, bytes]:
    """The files that say how weights and tokenizer are used."""
    config = encoder.config()
    positions = config["max_position_embeddings"]
    return {
        CONFIG: json_bytes(config),
        TOKENIZER_CONFIG: tokenizer_config(positions, lower_case=encoder.lower_case),
    }


def _tensors(files: Path, weights: str, scratch: Path) -> Mapping[str, np.ndarray]:
    """The weights in a file of any known form."""
    path = _unpacked(files, weights, scratch)
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    if path.suffix == ".onnx":
        return read_onnx(path.read_bytes(), path.name)
    if path.suffix == ".index":
        _unpacked(files, data_of(weights), scratch)
        return read_checkpoint(path)
    raise ValueError(f"{path}: expected .safetensors, .onnx or the .index of a TensorFlow checkpoint")


def _unpacked(files: Path, place: str, scratch: Path) -> Path:
    """The path of a file, which ``ARCHIVE!FILE`` names in an archive, unpacked once into ``scratch``."""
    outer, _, member = place.rpartition(_IN)
    if not outer:
        return files / place
    path = scratch / f"{outer.replace(_IN, '/')}.unpacked" / member
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        archive = _unpacked(files, outer, scratch)
        try:
            with (
                zipfile.ZipFile(archive) as stored,
                stored.open(member) as source,
                open(path, "wb") as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            raise ValueError(f"{archive}: expected an archive with {member} ({error})") from error
    return path
