"""States of words in a frozen encoder: computed once, stored beside the examples of a corpus."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from treeformer.chunking import split_by_padding
from treeformer.configuration import read_json
from treeformer.data.batching import piece_tensors
from treeformer.data.corpus import Manifest, PreparedCorpus, states_name
from treeformer.data.encoder import EncoderFacts
from treeformer.data.examples import PIECES, Integers
from treeformer.data.split import Split
from treeformer.encoders import Encoder, load_encoder
from treeformer.encoders.states import remove_upper_layers, word_states
from treeformer.machine import chosen_device
from treeformer.progress import Progress
from treeformer.storage import WorkFolder, sha256, write_json

BATCH = 4096  #: pieces of a batch, padding included
SAVE_EVERY = 10.0  #: seconds between two notes of how much is stored
_GIGABYTE = 10**9


def with_stored_states(corpus: PreparedCorpus, progress: Progress) -> PreparedCorpus:
    """The corpus, prepared with an encoder, with the states of its words, computed unless they are stored."""
    if corpus.manifest.encoder is None:
        raise ValueError(f"{corpus.folder}: prepared without an encoder, so there are no states")
    if not corpus.manifest.states:
        with WorkFolder(corpus.folder) as work:
            manifest = add_states(corpus.folder, corpus.manifest, work.path, progress)
            manifest.save(corpus.folder)
        corpus = PreparedCorpus(corpus.folder, manifest)
    return corpus.with_states()


def add_states(folder: Path, manifest: Manifest, work: Path, progress: Progress) -> Manifest:
    """Write the states of all splits into the folder of a corpus; its manifest with them, not yet saved.

    Args:
        folder: the folder of the corpus.
        manifest: its manifest, with the facts of the encoder.
        work: a folder for what is unfinished. What an interrupted call left there is used.
        progress: where to report.
    """
    facts = manifest.encoder
    assert facts is not None
    encoder = load_encoder(facts.source, sha256=facts.sha256)
    remove_upper_layers(encoder.model, max(facts.layers))
    files = [
        _StatesFile(Split(folder / f"{split}.arrow"), facts, encoder, work, split)
        for split in manifest.splits
    ]
    _remove_others(work, {path.name for file in files for path in file.paths})
    gigabytes = sum(file.bytes for file in files) / _GIGABYTE
    layers = ", ".join(map(str, facts.layers))
    progress.log(f"Storing states of {encoder.name}, layers {layers}: {gigabytes:.1f} GB")
    _check_space(work, sum(file.bytes for file in files if not any(path.exists() for path in file.paths)))
    total = sum(file.pieces for file in files)
    nn.Module.to(encoder.model, chosen_device(None))
    progress.begin("pieces")
    done = 0
    for file in files:
        file.write(progress, done, total)
        done += file.pieces
    sums = {states_name(file.split): sha256(file.complete) for file in files}
    for file in files:
        os.replace(file.complete, folder / states_name(file.split))
    return manifest.model_copy(update={"states": True, "checksums": {**manifest.checksums, **sums}})


class _StatesFile:
    """The states of one split in a file of numpy, which can be continued after an interruption.

    Its name has a hash of encoder, layers and pieces. Batches do not depend on how often it was interrupted.
    """

    def __init__(
        self, examples: Split, facts: EncoderFacts, encoder: Encoder, work: Path, split: str
    ) -> None:
        self.split = split
        self._examples, self._encoder, self._layers = examples, encoder, facts.layers
        _, self._leaf_starts = examples.flat("input_ids")
        _, piece_starts = examples.flat("piece_ids")
        self._sizes = np.diff(piece_starts)
        self.pieces = int(piece_starts[-1])
        self._shape = (int(self._leaf_starts[-1]), len(facts.layers), int(encoder.model.config.hidden_size))
        self._row = 2 * self._shape[1] * self._shape[2]  # bytes of a word in float16
        self.bytes = self._shape[0] * self._row
        name = f"{split}.states-{_key(examples, facts)[:16]}"
        self.complete, self._part, self._note = (work / f"{name}.{end}" for end in ("npy", "part", "json"))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of this and of earlier runs."""
        return self.complete, self._part, self._note

    def write(self, progress: Progress, before: int, total: int) -> None:
        """Compute what is missing; ``before`` of ``total`` pieces are in other files."""
        if self.complete.exists():
            return
        batches = self._batches()
        with open(self._part, "r+b" if self._part.exists() else "w+b", buffering=0) as stream:
            header = {"descr": "<f2", "fortran_order": False, "shape": self._shape}
            np.lib.format.write_array_header_1_0(stream, header)
            start = stream.tell()
            stream.truncate(start + self.bytes)
            first, last_note = self._batches_done(), time.monotonic()
            done = before
            for number, numbers in enumerate(batches):
                done += int(self._sizes[numbers].sum())
                if number < first:
                    continue
                states = self._states(numbers)
                for row, example in enumerate(numbers.tolist()):
                    first_leaf, end = self._leaf_starts[example : example + 2].tolist()
                    stream.seek(start + first_leaf * self._row)
                    stream.write(np.ascontiguousarray(states[row, : end - first_leaf]).data)
                progress.update(done, total, f"{self.split}: states of {self._encoder.name}")
                if time.monotonic() - last_note >= SAVE_EVERY:
                    os.fsync(stream.fileno())
                    write_json(self._note, {"batches": number + 1})
                    last_note = time.monotonic()
            os.fsync(stream.fileno())
        os.replace(self._part, self.complete)
        self._note.unlink(missing_ok=True)

    def _batches(self) -> list[NDArray[np.int64]]:
        """The numbers of the examples of each batch, long texts first."""
        order = np.argsort(-self._sizes, kind="stable").tolist()
        sizes = self._sizes.tolist()
        return [np.array(batch) for batch in split_by_padding(order, sizes.__getitem__, budget=BATCH)]

    def _batches_done(self) -> int:
        """The number of batches whose states are in the file."""
        with suppress(OSError, ValueError):
            return int(read_json(self._note).get("batches", 0))
        return 0

    @torch.inference_mode()
    def _states(self, numbers: NDArray[np.int64]) -> NDArray[np.float16]:
        """``[B, n, L, W]``: the states of a batch."""
        columns = self._examples.columns(numbers)
        device = self._encoder.model.device
        pieces = {name: tensor.to(device) for name, tensor in piece_tensors(columns).items()}
        words = int(columns.input_ids.lengths.max())
        states = word_states(self._encoder.model, **pieces, words=words, layers=self._layers).half().cpu()
        if not states.isfinite().all():
            raise ValueError(
                f"encoder {self._encoder.name}: its states do not fit into float16; use encoder.train: all"
            )
        stored: NDArray[np.float16] = states.numpy()
        return stored


def _key(examples: Split, facts: EncoderFacts) -> str:
    """A hash of all that the states of a split depend on."""
    digest = hashlib.sha256(json.dumps([facts.sha256, facts.layers, BATCH]).encode())
    columns: list[Integers] = [column for name in ("input_ids", *PIECES) for column in examples.flat(name)]
    for column in columns[1:]:  # leaves have no ids of their own, only their number counts
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def _remove_others(work: Path, names: set[str]) -> None:
    """Remove files of states for another encoder or other pieces."""
    for path in work.glob("*.states-*"):
        if path.name not in names:
            path.unlink()


def _check_space(work: Path, size: int) -> None:
    """Raise ``OSError`` if the disk is too small for so many bytes of states."""
    free = shutil.disk_usage(work).free
    if size > free:
        raise OSError(
            f"{work}: the states of the encoder take {size / _GIGABYTE:.1f} GB, but only "
            f"{free / _GIGABYTE:.1f} GB are free; use fewer layers (encoder.layers), or encoder.train: all"
        )
