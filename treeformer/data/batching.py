"""Batches: which examples make an update, in what shape, and the tensors of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer.data.buckets import Shape, buckets_of
from treeformer.data.split import Example, Examples, Integers, Lists, Rows, integers
from treeformer.data.vocabulary import END, IGNORED, PAD

Reads = Literal["trees", "words"]
AHEAD = 8  #: batches that a worker makes before they are asked for
Batch = list[NDArray[np.int64]]  #: an update: for each shard the numbers of its examples


class BatchPlan:
    """Which examples make up each update of each epoch.

    An update holds as many examples as fit in ``tokens`` of what a system reads: leaves and nodes, or with
    ``reads="words"`` leaves alone; padding counts, so memory is bounded. Examples of like size go together,
    in one of a few shapes. Neither the updates nor their order depend on how many shards they are split into.

    Args:
        sizes: ``[N, 3]``, leaves, nodes and targets of each example; see `Split.sizes`.
        reads: what the system reads.
        tokens: leaves and nodes of one update, over all processes.
        seed: fixes the order; each epoch has its own.
        shapes: the largest number of different shapes.
    """

    def __init__(self, sizes: Integers, reads: Reads, tokens: int, seed: int, *, shapes: int = 32) -> None:
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

    def __len__(self) -> int:
        """The number of updates of an epoch, the same for all epochs."""
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
        """The share of what a system reads in an epoch that is padding, filled rows included."""
        total = sum(shape.rows * (shape.leaves + shape.nodes) for shape in map(self.shape, self.epoch(0)))
        return 1 - self._read / total

    def epoch(self, epoch: int, *, shards: int = 1) -> list[Batch]:
        """The updates of an epoch in their order; every example is in exactly one of them, in one shard."""
        chance = np.random.default_rng([self.seed, epoch])
        order = chance.permutation(len(self._bucket))
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
            else:  # first in their new place, so that no rest is carried on for ever
                members[container].insert(0, waiting[whole:])
            updates += [waiting[start : start + shape.rows] for start in range(0, whole, shape.rows)]
        return [
            [updates[place][shard::shards] for shard in range(shards)]
            for place in chance.permutation(len(updates))
        ]

    def shape(self, batch: Batch) -> Shape:
        """The shape of each shard of an update: widths, and rows, which fewer examples fill up."""
        examples = np.concatenate(batch)
        buckets = np.unique(self._bucket[examples])
        widest = self._widths[buckets].max(0)
        fits = (self._widths >= widest).all(1) & (self._rows >= len(examples))
        shape = self.shapes[int(fits.argmax())]
        return shape._replace(rows=-(-shape.rows // len(batch)))


def _containers(widths: NDArray[np.int64]) -> list[int | None]:
    """For each shape the next one that is at least as wide in everything, if there is one."""
    contains = np.triu((widths[None] >= widths[:, None]).all(2), k=1)
    return [int(larger.argmax()) if larger.any() else None for larger in contains]


def collate(
    rows: Rows, shape: Shape, *, reads: Reads = "trees", real: int | None = None
) -> dict[str, Tensor]:
    """The model's inputs and targets as int64 tensors of this shape.

    The first ``real`` rows count, all by default; what is left of the shape repeats the first row, with
    targets −100. For translation the words of ``reads="words"`` end with ``</s>``, and ``labels`` are the
    target tokens with ``</s>``; otherwise ``labels`` are the classes of the examples.
    """
    count = len(rows.input_ids.lengths)
    if not 1 <= count <= shape.rows:
        raise ValueError(f"rows: expected 1 to {shape.rows} for this shape, got {count}")
    end = END if rows.target_ids is not None and reads == "words" else None
    batch = {}
    batch["input_ids"], batch["attention_mask"] = _padded(rows.input_ids, shape.leaves, PAD, end)
    if reads == "trees":
        batch["node_ids"], batch["node_mask"] = _padded(rows.node_ids, shape.nodes, 0)
        spans, _ = _padded(rows.node_spans, 2 * shape.nodes, 0)
        batch["node_spans"] = spans.reshape(count, shape.nodes, 2)
        if rows.leaf_targets is not None:
            batch["leaf_targets"], _ = _padded(rows.leaf_targets, shape.leaves, IGNORED)
        if rows.node_targets is not None:
            batch["node_targets"], _ = _padded(rows.node_targets, shape.nodes, IGNORED)
    if rows.label is not None:
        batch["labels"] = rows.label.astype(np.int64)
    if rows.target_ids is not None:
        batch["labels"], _ = _padded(rows.target_ids, shape.targets, IGNORED, END)
    if count < shape.rows:
        place = np.arange(shape.rows)
        filled = np.where(place < count, place, 0)
        batch = {name: values[filled] for name, values in batch.items()}
    for name in batch.keys() & {"leaf_targets", "node_targets", "labels"}:
        batch[name][count if real is None else real :] = IGNORED
    return {name: torch.from_numpy(values) for name, values in batch.items()}


def questions(
    examples: Sequence[Example], *, reads: Reads = "trees", translates: bool = False
) -> dict[str, Tensor]:
    """What a model reads of these examples, padded to the longest; nothing of what they should be answered.

    The words of ``reads="words"`` end with ``</s>`` if the model ``translates``.
    """
    asked = Rows.of([Example(*example[:3]) for example in examples])
    shape = Shape(len(examples), int(asked.input_ids.lengths.max()), int(asked.node_ids.lengths.max()), 1)
    if translates and reads == "words":  # a target of nothing asks for </s>
        asked = asked._replace(target_ids=Lists.of([integers([])] * len(examples)))
        shape = shape._replace(leaves=shape.leaves + 1)
    batch = collate(asked, shape, reads=reads)
    batch.pop("labels", None)
    return batch


def _padded(
    lists: Lists, width: int, fill: int, end: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``lists`` as rows of ``width`` numbers, each followed by ``end``; and 1 where they are, 0 elsewhere."""
    count, lengths = len(lists.lengths), lists.lengths
    padded = np.full((count, width), fill, np.int64)
    inside = np.arange(width) < lengths[:, None]
    padded[inside] = lists.values
    if end is not None:
        padded[np.arange(count), lengths] = end
        inside = np.arange(width) <= lengths[:, None]
    return padded, inside.astype(np.int64)


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
        examples: what the plan was made for.
        plan: says what goes together.
        epoch: which order.
        first: how many updates to leave out, because they were done before.
        rank: which shard, or which shards one after another for each update, where a process accumulates.
        shards: into how many an update is split: processes times steps of accumulation.
        workers: threads that put batches together ahead of time; with 0 each is made when asked for.
        pin_memory: give tensors that a GPU can copy while it works.
    """
    ranks = [rank] if isinstance(rank, int) else list(rank)
    if not ranks or not all(0 <= one < shards for one in ranks):
        raise ValueError(f"rank: expected 0 to {shards - 1} for {shards} shards, got {rank}")
    updates = plan.epoch(epoch, shards=shards)[first:]

    def make(update: Batch, one: int) -> dict[str, Tensor]:
        chosen = update[one] if len(update[one]) else update[0][:1]  # an empty shard repeats an example
        batch = collate(examples.rows(chosen), plan.shape(update), reads=plan.reads, real=len(update[one]))
        return {name: tensor.pin_memory() for name, tensor in batch.items()} if pin_memory else batch

    wanted = ((update, one) for update in updates for one in ranks)
    if workers == 0:
        yield from (make(*item) for item in wanted)
        return
    with ThreadPoolExecutor(workers) as pool:
        ahead = deque(pool.submit(make, *item) for item in islice(wanted, AHEAD * workers))
        try:
            while ahead:
                batch = ahead.popleft().result()
                ahead += [pool.submit(make, *item) for item in islice(wanted, 1)]
                yield batch
        finally:  # whoever stops early does not wait for what was ordered
            pool.shutdown(wait=False, cancel_futures=True)
