"""Examples: what a model reads and predicts, one by one or column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int32]
States = NDArray[np.float16]

PIECES = ("piece_ids", "piece_words", "window_sizes")  #: see `treeformer.encoders.linking.Pieces`
LISTS = ("input_ids", "node_ids", "node_spans", "leaf_targets", "node_targets", "target_ids", *PIECES)
NUMBERS = ("label", "group")


class Example(NamedTuple):
    """One example: tokens of the leaves, labels and spans of the nodes in post-order, and what to predict."""

    input_ids: Integers  #: ``[n]``
    node_ids: Integers  #: ``[m]``
    node_spans: Integers  #: ``[m, 2]``, half-open
    leaf_targets: Integers | None = None  #: ``[n]``, −100 for none
    node_targets: Integers | None = None  #: ``[m]``, −100 for none
    label: int | None = None
    target_ids: Integers | None = None  #: ``[q]``, without ``</s>``
    group: int = 0  #: what scores are broken down by, such as the number of attractors
    piece_ids: Integers | None = None  #: ``[k]`` pieces of an encoder, window after window
    piece_words: Integers | None = None  #: ``[k]`` the leaf that each piece belongs to, −1 for none
    window_sizes: Integers | None = None  #: ``[v]`` number of pieces of each window
    leaf_states: States | None = None  #: ``[n, L, W]`` stored states of the leaves


class Ragged(NamedTuple):
    """Lists of different lengths, one after another in one array."""

    values: Integers
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[Integers]) -> Ragged:
        """The ragged array of these lists, at least one."""
        return cls(np.concatenate(lists), np.fromiter(map(len, lists), np.int64, len(lists)))

    def padded(self, fill: int, width: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The lists as rows ``[B, width]``, by default as wide as the longest, and a mask."""
        width = int(self.lengths.max()) if width is None else width
        inside = np.arange(width) < self.lengths[:, None]
        padded = np.full(inside.shape, fill, np.int64)
        padded[inside] = self.values
        return padded, inside

    @classmethod
    def slices(cls, values: Integers, starts: Integers, ends: Integers) -> Ragged:
        """The slices ``values[start:end]`` for each pair of ``starts`` and ``ends``."""
        return cls(values[places_in_slices(starts, ends)], (ends - starts).astype(np.int64))


class Columns(NamedTuple):
    """Several examples, column by column; see `Example`."""

    input_ids: Ragged
    node_ids: Ragged
    node_spans: Ragged  #: two numbers per node
    leaf_targets: Ragged | None = None
    node_targets: Ragged | None = None
    label: Integers | None = None
    target_ids: Ragged | None = None
    piece_ids: Ragged | None = None
    piece_words: Ragged | None = None
    window_sizes: Ragged | None = None
    leaf_states: States | None = None  #: ``[leaves of all examples, L, W]``

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Columns:
        """The columns of these examples, at least one."""
        columns: dict[str, Any] = {}
        for name in cls._fields:
            values = [getattr(example, name) for example in examples]
            if values[0] is None:
                continue
            if name in NUMBERS:
                columns[name] = integers(values)
            elif name == "leaf_states":
                columns[name] = np.concatenate(values)
            else:
                columns[name] = Ragged.of([value.reshape(-1) for value in values])
        return cls(**columns)


class Examples(Protocol):
    """What batches are made of: a `Split`, its `Phrases`, a `Subset`, or an `ExampleList`."""

    @property
    def sizes(self) -> Integers:
        """``[N, 3]``: leaves, nodes and target tokens (without ``</s>``) of each example."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Example: ...

    def columns(self, numbers: NDArray[np.int64]) -> Columns:
        """The examples of these numbers, much faster than one by one."""
        ...


class ExampleList(list[Example]):
    """Examples in memory."""

    def columns(self, numbers: NDArray[np.int64]) -> Columns:
        """See `Examples.columns`."""
        return Columns.of([self[number] for number in numbers])

    @property
    def sizes(self) -> Integers:
        """See `Examples.sizes`; inputs have no target tokens."""
        return integers([(len(one.input_ids), len(one.node_ids), 0) for one in self]).reshape(-1, 3)


def integers(values: Sequence[Any]) -> Integers:
    """The values as an array of int32, the type of all columns."""
    return np.array(values, dtype=np.int32)


def places_in_slices(starts: Integers, ends: Integers) -> NDArray[np.int64]:
    """The numbers from each of ``starts`` up to its end in ``ends``, one after another."""
    lengths = (ends - starts).astype(np.int64)
    offsets = starts - (np.cumsum(lengths) - lengths)  # from the place in the result to the number there
    return np.repeat(offsets, lengths) + np.arange(lengths.sum())
