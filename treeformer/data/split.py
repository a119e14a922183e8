"""Examples of a prepared corpus: written once, then read from memory-mapped Arrow files without copying."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treeformer.data.examples import (
    LISTS,
    NUMBERS,
    PIECES,
    Columns,
    Example,
    Examples,
    Integers,
    Ragged,
    States,
    places_in_slices,
)
from treeformer.data.vocabulary import IGNORED
from treeformer.encoders.linking import NO_WORD

_COUNTS = {
    "node_spans": ("node_ids", 2),
    "node_targets": ("node_ids", 1),
    "leaf_targets": ("input_ids", 1),
    "piece_words": ("piece_ids", 1),
}
TEXTS = (
    "words",  #: of the leaves, with spaces between them, where leaves are words without ids
    "target_text",  #: the raw reference
    "target_tokens",  #: its tokens with spaces between them
)


class SplitWriter:
    """Collects examples and writes them to one Arrow file; the first example decides the columns."""

    def __init__(self) -> None:
        self._values: dict[str, array[int]] = {}
        self._ends: dict[str, array[int]] = {}
        self._texts: dict[str, list[str]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, example: Example, **texts: str) -> None:
        """Add an example; ``texts`` are some of `TEXTS`. States are not written."""
        columns = {name: value for name, value in {**example._asdict(), **texts}.items() if value is not None}
        before = self._values.keys() | self._texts.keys()
        if self._count and columns.keys() != before:
            raise ValueError(f"example: expected {sorted(before)} as before, got {sorted(columns)}")
        self._count += 1
        for name, value in columns.items():
            if name in TEXTS:
                self._texts.setdefault(name, []).append(value)
                continue
            values = self._values.setdefault(name, array("i"))
            if name in NUMBERS:
                values.append(value)
            else:
                values.frombytes(np.ascontiguousarray(value, dtype=np.int32).tobytes())
                self._ends.setdefault(name, array("i", [0])).append(len(values))

    def write(self, path: Path) -> None:
        """Write all examples as one record batch, so that each column is contiguous."""
        columns: dict[str, Any] = {}
        for name in (*LISTS, *NUMBERS):
            if name in self._values:
                columns[name] = pa.array(np.frombuffer(self._values[name], dtype=np.int32))
            if name in self._ends:
                ends = pa.array(np.frombuffer(self._ends[name], dtype=np.int32))
                columns[name] = pa.ListArray.from_arrays(ends, columns[name])
        columns |= {name: pa.array(self._texts[name], pa.string()) for name in TEXTS if name in self._texts}
        batch = pa.RecordBatch.from_pydict(columns)
        try:
            with open(path, "wb") as sink:
                with pa.ipc.new_file(sink, batch.schema) as writer:
                    writer.write_batch(batch)
                sink.flush()
                os.fsync(sink.fileno())
        except OSError as error:
            raise OSError(f"{path}: could not be written ({error.strerror or error})") from error


class Split:
    """The examples of one Arrow file, mapped into memory: ``split[i]`` gives views, no copies.

    Args:
        path: the file.
        states: a file of numpy with the states of all leaves, ``[leaves, L, W]``. Examples then have these
            states instead of the pieces from which they were computed.
    """

    def __init__(self, path: str | Path, states: Path | None = None) -> None:
        self._path = Path(path)
        try:
            reader = pa.ipc.open_file(pa.memory_map(str(path), "r"))
            if reader.num_record_batches != 1:
                raise ValueError(f"expected one record batch, got {reader.num_record_batches}")
            self._batch = reader.get_batch(0)
            _check_batch(self._batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ValueError(f"{path}: not a prepared split: {' '.join(str(error).split())}") from error
        self._columns = set(self._batch.schema.names)
        self._values: dict[str, Integers] = {}
        self._starts: dict[str, Integers] = {}
        for name in self._columns & {*LISTS, *NUMBERS}:
            column = self._batch.column(name)
            if name in LISTS:
                self._starts[name] = column.offsets.to_numpy()
                column = column.values
            self._values[name] = column.to_numpy()
        self._check_lengths()
        self._states_path = states
        self._states = None if states is None else self._mapped(states)
        if states is not None:
            self._columns -= {*PIECES}

    def _mapped(self, path: Path) -> States:
        """The states in a file, mapped into memory; ``ValueError`` if they are not those of this split."""
        try:
            states: States = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # numpy raises those of its parser, too
            # the message may hold a damaged header whole, or be empty
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"{path}: not a file of states: {reason:.200}") from error
        leaves = len(self._values["input_ids"])
        if states.dtype != np.float16 or states.ndim != 3 or len(states) != leaves:
            raise ValueError(
                f"{path}: expected float16 states of {leaves} leaves, found {states.dtype} {states.shape}"
            )
        return states

    def _check_lengths(self) -> None:
        """Raise ``ValueError`` unless spans and targets are as many as nodes and leaves, in each example."""
        for name, (counted, times) in _COUNTS.items():
            if name in self._starts:
                expected = times * np.diff(self._starts[counted])
                wrong = np.flatnonzero(np.diff(self._starts[name]) != expected)
                if len(wrong):
                    raise ValueError(
                        f"{self._path}: not a prepared split: column {name}: expected {times} for each of "
                        f"{counted}, found another number in example {wrong[0]}"
                    )

        if "window_sizes" in self._starts:
            sizes = np.concatenate([[0], np.cumsum(self._values["window_sizes"], dtype=np.int64)])
            if (sizes[self._starts["window_sizes"]] != self._starts["piece_ids"]).any():
                raise ValueError(
                    f"{self._path}: not a prepared split: its windows are not those of its pieces"
                )

    def __reduce__(self) -> tuple[object, ...]:
        return Split, (self._path, self._states_path)

    def __len__(self) -> int:
        return self._batch.num_rows

    def __getitem__(self, index: int) -> Example:
        if not 0 <= index < len(self):
            raise IndexError(f"index: expected 0 to {len(self) - 1}, got {index}")
        spans = self._list("node_spans", index)
        label = self._values.get("label")
        group = self._values.get("group")
        return Example(
            self._values["input_ids"][self._slice("input_ids", index)],
            self._values["node_ids"][self._slice("node_ids", index)],
            np.empty((0, 2), np.int32) if spans is None else spans.reshape(-1, 2),
            self._list("leaf_targets", index),
            self._list("node_targets", index),
            None if label is None else int(label[index]),
            self._list("target_ids", index),
            0 if group is None else int(group[index]),
            self._list("piece_ids", index),
            self._list("piece_words", index),
            self._list("window_sizes", index),
            None if self._states is None else self._states[self._slice("input_ids", index)],
        )

    def columns(self, numbers: NDArray[np.int64]) -> Columns:
        """See `Examples.columns`."""
        columns: dict[str, Any] = dict(self.ragged(Columns._fields, numbers))
        if "label" in self._columns:
            columns["label"] = self._values["label"][numbers]
        starts = self._starts["input_ids"]
        return Columns(**columns, leaf_states=self.states_of(starts[numbers], starts[numbers + 1]))

    def ragged(self, names: Iterable[str], numbers: NDArray[np.int64]) -> dict[str, Ragged]:
        """The columns of lists with these names, as far as there are any, for these examples."""
        columns = {}
        for name in self._columns.intersection(LISTS, names):
            starts = self._starts[name]
            columns[name] = Ragged.slices(self._values[name], starts[numbers], starts[numbers + 1])
        return columns

    def states_of(self, starts: Integers, ends: Integers) -> States | None:
        """The states of some ranges of all leaves, one after another; None if there are no states."""
        return None if self._states is None else self._states[places_in_slices(starts, ends)]

    def _slice(self, name: str, index: int) -> slice:
        starts = self._starts[name]
        return slice(starts[index], starts[index + 1])

    def _list(self, name: str, index: int) -> Integers | None:
        return self._values[name][self._slice(name, index)] if name in self._columns else None

    @property
    def sizes(self) -> Integers:
        """See `Examples.sizes`."""
        sizes = np.zeros((len(self), 3), np.int32)
        for place, name in enumerate(("input_ids", "node_ids", "target_ids")):
            if name in self._starts:
                sizes[:, place] = np.diff(self._starts[name])
        return sizes

    @property
    def labels(self) -> Integers | None:
        """``[N]`` classes, None for a translation corpus."""
        return self._values.get("label")

    @property
    def groups(self) -> Integers:
        """``[N]`` groups by which scores are broken down."""
        return self._values.get("group", np.zeros(len(self), np.int32))

    @property
    def text_names(self) -> set[str]:
        """The names of the columns of texts, out of `TEXTS`."""
        return self._columns & {*TEXTS}

    def texts(self, name: str) -> list[str]:
        """A column of texts, one of `text_names`."""
        if name not in self.text_names:
            names = sorted(self.text_names)
            raise ValueError(f"{self._path}: expected one of the texts {names}, got {name!r}")
        column = self._batch.column(name)
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise ValueError(f"{self._path}: column {name} is damaged: {error}") from error
        return [str(text) for text in column.to_pylist()]

    def share(self, share: float) -> Subset:
        """A random share of the examples: always the same, and contained in every larger share."""
        order = np.random.default_rng(_SHARE_SEED).permutation(len(self))
        return Subset(self, np.sort(order[: max(1, round(share * len(self)))]))

    def phrases(self) -> Phrases:
        """Every word and phrase that has a target, as a separate sequence."""
        return Phrases(self)

    def flat(self, name: str) -> tuple[Integers, Integers]:
        """All values of a list column in one array, and the ``N + 1`` offsets of the examples in it."""
        if name not in self._starts:
            raise ValueError(f"{self._path}: no column {name}: only a corpus with targets on phrases has it")
        return self._values[name], self._starts[name]


class Phrases:
    """Every labelled word and phrase of a split as a separate sequence, without nodes."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._tokens, leaf_starts = split.flat("input_ids")
        self._leaf_starts = leaf_starts
        leaf_targets, _ = split.flat("leaf_targets")
        node_targets, node_starts = split.flat("node_targets")
        spans = split.flat("node_spans")[0].reshape(-1, 2)
        node_sentences = np.repeat(np.arange(len(split)), np.diff(node_starts))
        leaf_sentences = np.repeat(np.arange(len(split)), np.diff(leaf_starts))
        several_words = spans[:, 1] - spans[:, 0] > 1
        first_leaf_unlabelled = leaf_targets[leaf_starts[node_sentences] + spans[:, 0]] == IGNORED
        # A node over one labelled word would repeat the word.
        nodes = np.flatnonzero((node_targets != IGNORED) & (several_words | first_leaf_unlabelled))
        leaves = np.flatnonzero(leaf_targets != IGNORED)
        offsets = leaf_starts[node_sentences[nodes]]
        self._starts = np.concatenate([leaves, spans[nodes, 0] + offsets])
        self._ends = np.concatenate([leaves + 1, spans[nodes, 1] + offsets])
        self._labels = np.concatenate([leaf_targets[leaves], node_targets[nodes]])
        self._sentences = np.concatenate([leaf_sentences[leaves], node_sentences[nodes]])

    def within(self, sentences: Subset) -> Subset:
        """The phrases of these sentences."""
        return Subset(self, np.flatnonzero(np.isin(self._sentences, sentences.numbers)))

    def __reduce__(self) -> tuple[object, ...]:
        return Phrases, (self._split,)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> Example:
        columns = self.columns(np.array([index]))
        ids, words, sizes = columns.piece_ids, columns.piece_words, columns.window_sizes
        return Example(
            columns.input_ids.values,
            _NO_NODES,
            _NO_SPANS,
            label=int(self._labels[index]),
            piece_ids=None if ids is None else ids.values,
            piece_words=None if words is None else words.values,
            window_sizes=None if sizes is None else sizes.values,
            leaf_states=columns.leaf_states,
        )

    def columns(self, numbers: NDArray[np.int64]) -> Columns:
        """See `Examples.columns`."""
        no_nodes = Ragged(_NO_NODES, np.zeros(len(numbers), np.int64))
        starts, ends = self._starts[numbers], self._ends[numbers]
        words = Ragged.slices(self._tokens, starts, ends)
        columns = Columns(words, no_nodes, no_nodes, label=self._labels[numbers])
        columns = columns._replace(leaf_states=self._split.states_of(starts, ends))
        pieces = self._split.ragged(PIECES, self._sentences[numbers])
        if not pieces:
            return columns
        # Those of the whole sentence, where the words outside of the phrase only give context.
        words = pieces["piece_words"]
        first = starts - self._leaf_starts[self._sentences[numbers]]
        place = words.values - np.repeat(first, words.lengths)
        inside = (words.values != NO_WORD) & (place >= 0) & (place < np.repeat(ends - starts, words.lengths))
        return columns._replace(
            piece_ids=pieces["piece_ids"],
            piece_words=Ragged(np.where(inside, place, NO_WORD), words.lengths),
            window_sizes=pieces["window_sizes"],
        )

    @property
    def labels(self) -> Integers:
        """``[N]`` classes."""
        return self._labels

    @property
    def sentences(self) -> NDArray[np.int64]:
        """``[N]`` numbers of the examples that the phrases are from."""
        return self._sentences

    @property
    def sizes(self) -> Integers:
        """See `Examples.sizes`; there are no nodes and no target tokens."""
        sizes = np.zeros((len(self), 3), np.int32)
        sizes[:, 0] = self._ends - self._starts
        return sizes


class Subset:
    """A selection of examples.

    Args:
        examples: all of them.
        numbers: ``[N]`` numbers of the selected ones.
    """

    def __init__(self, examples: Examples, numbers: NDArray[np.int64]) -> None:
        self._examples = examples
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Example:
        return self._examples[int(self.numbers[index])]

    def columns(self, numbers: NDArray[np.int64]) -> Columns:
        """See `Examples.columns`."""
        return self._examples.columns(self.numbers[numbers])

    @property
    def sizes(self) -> Integers:
        """See `Examples.sizes`."""
        return self._examples.sizes[self.numbers]


_SHARE_SEED = 1
_NO_NODES: Integers = np.empty(0, np.int32)
_NO_SPANS: Integers = np.empty((0, 2), np.int32)


def _check_batch(batch: pa.RecordBatch) -> None:
    """Raise ``ValueError`` or ``ArrowInvalid`` for missing or double columns, other types, wrong offsets."""
    types = {name: pa.list_(pa.int32()) for name in LISTS}
    types |= {name: pa.int32() for name in NUMBERS} | {name: pa.string() for name in TEXTS}
    missing = {"input_ids", "node_ids", "node_spans"} - {*batch.schema.names}
    if missing:
        raise ValueError(f"no column {min(missing)}")
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if batch.schema.names.count(name) > 1:
            raise ValueError(f"column {name}: expected one, found {batch.schema.names.count(name)}")
        if name in types and column.type != types[name]:
            raise ValueError(f"column {name}: expected {types[name]}, found {column.type}")
        if column.null_count:
            raise ValueError(f"column {name}: {column.null_count} values are missing")
        if name in LISTS:
            column.validate(full=True)
