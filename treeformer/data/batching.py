"""Batches: which examples make up an update, their common shape, and their tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer.data.buckets import Numbers, Shape, buckets_of, rounded_limits
from treeformer.data.examples import Columns, Examples, Integers, Ragged
from treeformer.data.vocabulary import END, IGNORED, PAD
from treeformer.encoders.linking import NO_WORD

Reads = Literal["trees", "words"]
AHEAD = 8  #: batches that each worker prepares in advance
Update = list[NDArray[np.int64]]  #: for each shard of an update the numbers of its examples


class BatchPlan:
    """Which examples make up each update of each epoch.

    An update holds as many examples as fit into ``tokens``: leaves and nodes, or leaves alone with
    ``reads="words"``. Padding counts, so memory is bounded. Examples of similar size share one of a few
    shapes. Neither the updates nor their order depend on the number of shards.

    Args:
        sizes: ``[N, 3]``, leaves, nodes and targets of each example; see `Split.sizes`.
        reads: what the system reads.
        tokens: leaves and nodes of one update, over all processes.
        seed: seed of the shuffling; each epoch is shuffled differently.
        shapes: the largest number of shapes.
        limits: ``[N, 2]``, levels and folds of each example, for a system whose time grows with them.
    """

    def __init__(
        self,
        sizes: Integers,
        reads: Reads,
        tokens: int,
        seed: int,
        *,
        shapes: int = 32,
        limits: Numbers | None = None,
    ) -> None:
        if reads not in ("trees", "words"):
            raise ValueError(f"reads: expected trees or words, got {reads!r}")
        if tokens < 1:
            raise ValueError(f"tokens: expected at least 1, got {tokens}")
        if len(sizes) == 0:
            raise ValueError("sizes: expected at least one example, got none")
        widths = np.array(sizes, dtype=np.int64)
        if reads == "words":
            widths[:, 1] = 0
        if widths[:, 2].any():  # room for </s>, which a tree source does not have
            widths[:, 2] += 1
            widths[:, 0] += reads == "words"
        self.reads: Reads = reads
        self.tokens = tokens
        self.seed = seed
        self.shapes, self._bucket = buckets_of(widths, tokens, shapes)
        self._widths = np.array([shape.widths for shape in self.shapes])
        self._rows = np.array([shape.rows for shape in self.shapes])
        self._containers = _containers(self._widths)
        self._read = int(widths[:, :2].sum())
        self._limits = limits

    def __len__(self) -> int:
        """The number of updates in every epoch."""
        counts = np.bincount(self._bucket, minlength=len(self.shapes))
        updates = 0
        for bucket, shape in enumerate(self.shapes):
            full, rest = divmod(int(counts[bucket]), shape.rows)
            container = self._containers[bucket]
            if container is not None:
                counts[container] += rest
            updates += full + (container is None and rest > 0)
        return updates

    @property
    def padding(self) -> float:
        """The share of padding in an epoch, repeated rows included."""
        total = sum(shape.rows * (shape.leaves + shape.nodes) for shape in map(self.shape, self.epoch(0)))
        return 1 - self._read / total

    def epoch(self, epoch: int, *, shards: int = 1) -> list[Update]:
        """The updates of an epoch in their order; every example is in one shard of one update."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self._bucket))
        order = order[np.argsort(self._bucket[order], kind="stable")]
        ends = np.cumsum(np.bincount(self._bucket, minlength=len(self.shapes)))
        members = [[part] for part in np.split(order, ends[:-1])]
        updates: list[NDArray[np.int64]] = []
        for bucket, shape in enumerate(self.shapes):
            waiting = np.concatenate(members[bucket])
            container = self._containers[bucket]
            whole = len(waiting) // shape.rows * shape.rows
            if container is None:
                whole = len(waiting)
            else:  # first in the wider bucket, so that no example is moved up again and again
                members[container].insert(0, waiting[whole:])
            updates += [waiting[start : start + shape.rows] for start in range(0, whole, shape.rows)]
        return [
            [updates[place][shard::shards] for shard in range(shards)]
            for place in generator.permutation(len(updates))
        ]

    def shape(self, update: Update) -> Shape:
        """The shape of each shard of an update; missing rows are filled up by repeating one."""
        examples = np.concatenate(update)
        buckets = np.unique(self._bucket[examples])
        widest = self._widths[buckets].max(0)
        fits = (self._widths >= widest).all(1) & (self._rows >= len(examples))
        shape = self.shapes[int(fits.argmax())]
        shape = shape._replace(rows=-(-shape.rows // len(update)))
        if self._limits is None:
            return shape
        return shape._replace(limits=rounded_limits(shape, *self._limits[examples].max(0).tolist()))


def _containers(widths: NDArray[np.int64]) -> list[int | None]:
    """For each shape the next shape that is at least as wide in all respects, if any."""
    contains = np.triu((widths[None] >= widths[:, None]).all(2), k=1)
    return [int(larger.argmax()) if larger.any() else None for larger in contains]


def collate(
    columns: Columns, shape: Shape, *, reads: Reads = "trees", real: int | None = None
) -> dict[str, Tensor]:
    """The model's inputs and targets as int64 tensors of this shape.

    For translation the words of ``reads="words"`` end with ``</s>``, and ``labels`` are the target tokens
    with ``</s>``; otherwise ``labels`` are the classes of the examples. ``limits [2]`` are
    those of the shape, if it has any. For a pretrained encoder there are ``piece_ids [B, v, p]``,
    ``piece_mask`` and ``piece_words``, padded to the batch, or ``leaf_states [B, n, L, W]`` in float16.

    Args:
        columns: at most ``shape.rows`` examples. Missing rows repeat the first, with targets −100.
        shape: the shape of the tensors.
        reads: what the system reads.
        real: only this many rows have targets; all by default.
    """
    count = len(columns.input_ids.lengths)
    if not 1 <= count <= shape.rows:
        raise ValueError(f"columns: expected 1 to {shape.rows} examples for this shape, got {count}")
    end = END if columns.target_ids is not None and reads == "words" else None
    batch: dict[str, NDArray[Any]] = {}
    batch["input_ids"], batch["attention_mask"] = _padded(columns.input_ids, shape.leaves, PAD, end)
    if reads == "trees":
        batch["node_ids"], batch["node_mask"] = _padded(columns.node_ids, shape.nodes, 0)
        spans, _ = _padded(columns.node_spans, 2 * shape.nodes, 0)
        batch["node_spans"] = spans.reshape(count, shape.nodes, 2)
        if columns.leaf_targets is not None:
            batch["leaf_targets"], _ = _padded(columns.leaf_targets, shape.leaves, IGNORED)
        if columns.node_targets is not None:
            batch["node_targets"], _ = _padded(columns.node_targets, shape.nodes, IGNORED)
    if columns.leaf_states is not None:
        inside = np.arange(shape.leaves) < columns.input_ids.lengths[:, None]
        batch["leaf_states"] = np.zeros((*inside.shape, *columns.leaf_states.shape[1:]), np.float16)
        batch["leaf_states"][inside] = columns.leaf_states
    elif columns.piece_ids is not None:
        batch |= _windows(columns)
    if columns.label is not None:
        batch["labels"] = columns.label.astype(np.int64)
    if columns.target_ids is not None:
        batch["labels"], _ = _padded(columns.target_ids, shape.targets, IGNORED, END)
    if count < shape.rows:
        row = np.arange(shape.rows)
        source = np.where(row < count, row, 0)
        batch = {name: values[source] for name, values in batch.items()}
    for name in batch.keys() & {"leaf_targets", "node_targets", "labels"}:
        batch[name][count if real is None else real :] = IGNORED
    if shape.limits is not None:
        batch["limits"] = np.array(shape.limits)
    return {name: torch.from_numpy(values) for name, values in batch.items()}


def input_tensors(columns: Columns, *, reads: Reads = "trees", translates: bool = False) -> dict[str, Tensor]:
    """The model's inputs, padded to the longest example, without targets.

    The words of ``reads="words"`` end with ``</s>`` if the model ``translates``.
    """
    inputs = columns._replace(leaf_targets=None, node_targets=None, label=None, target_ids=None)
    count, leaves = len(inputs.input_ids.lengths), int(inputs.input_ids.lengths.max())
    if translates and reads == "words":  # an empty target makes `collate` add </s>
        inputs = inputs._replace(target_ids=Ragged(np.empty(0, np.int32), np.zeros(count, np.int64)))
        leaves += 1
    shape = Shape(count, leaves, int(inputs.node_ids.lengths.max()), 1)
    batch = collate(inputs, shape, reads=reads)
    batch.pop("labels", None)
    return batch


def _padded(
    lists: Ragged, width: int, fill: int, end: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lists as rows of ``width`` numbers, each followed by ``end``; and a mask, 1 for their numbers."""
    padded, inside = lists.padded(fill, width)
    if end is not None:
        padded[np.arange(len(padded)), lists.lengths] = end
        inside = np.arange(width) <= lists.lengths[:, None]
    return padded, inside.astype(np.int64)


def piece_tensors(columns: Columns) -> dict[str, Tensor]:
    """``piece_ids``, ``piece_mask`` and ``piece_words`` alone, see `collate`."""
    return {name: torch.from_numpy(values) for name, values in _windows(columns).items()}


def _windows(columns: Columns) -> dict[str, NDArray[np.int64]]:
    """The pieces of an encoder, their mask and their words, ``[B, windows, pieces]`` each."""
    assert columns.piece_ids is not None
    assert columns.piece_words is not None
    assert columns.window_sizes is not None
    sizes, counts = columns.window_sizes
    rows, windows, width = len(counts), int(counts.max()), int(sizes.max())
    lengths = np.zeros((rows, windows), np.int64)
    lengths[np.arange(windows) < counts[:, None]] = sizes
    inside = np.arange(width) < lengths[..., None]
    batch = {"piece_mask": inside.astype(np.int64)}
    for name, values, fill in (
        ("piece_ids", columns.piece_ids.values, 0),
        ("piece_words", columns.piece_words.values, NO_WORD),
    ):
        batch[name] = np.full(inside.shape, fill, np.int64)
        batch[name][inside] = values
    return batch


def loader(
    examples: Examples,
    plan: BatchPlan,
    epoch: int,
    *,
    first: int = 0,
    rank: int | Sequence[int] = 0,
    shards: int = 1,
    workers: int = 0,
    pin_memory: bool = False,
) -> Iterator[dict[str, Tensor]]:
    """The batches of an epoch, in the same order for any number of workers.

    Args:
        examples: the examples of the plan.
        plan: which examples make up an update.
        epoch: decides the order.
        first: the number of updates to skip, because they were done before.
        rank: the shard of this process, or its shards one after another if it accumulates gradients.
        shards: number of shards per update: processes times steps of accumulation.
        workers: threads that prepare batches in advance; 0 makes each batch on request.
        pin_memory: return tensors that a GPU can copy asynchronously.
    """
    ranks = [rank] if isinstance(rank, int) else list(rank)
    if not ranks or not all(0 <= shard < shards for shard in ranks):
        raise ValueError(f"rank: expected 0 to {shards - 1} for {shards} shards, got {rank}")
    updates = plan.epoch(epoch, shards=shards)[first:]

    def make(update: Update, shard: int) -> dict[str, Tensor]:
        numbers = update[shard] if len(update[shard]) else update[0][:1]  # an empty shard repeats an example
        columns = examples.columns(numbers)
        batch = collate(columns, plan.shape(update), reads=plan.reads, real=len(update[shard]))
        return {name: tensor.pin_memory() for name, tensor in batch.items()} if pin_memory else batch

    requests = ((update, shard) for update in updates for shard in ranks)
    if workers == 0:
        yield from (make(*request) for request in requests)
        return
    with ThreadPoolExecutor(workers) as pool:
        ahead = deque(pool.submit(make, *request) for request in islice(requests, AHEAD * workers))
        try:
            while ahead:
                batch = ahead.popleft().result()
                ahead += [pool.submit(make, *request) for request in islice(requests, 1)]
                yield batch
        finally:  # a caller that stops early does not wait for the batches in preparation
            pool.shutdown(wait=False, cancel_futures=True)
