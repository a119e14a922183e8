"""Batches of examples to answer: of like size, so that little is padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from treeformer.data.batching import Reads, questions
from treeformer.data.split import Example, Examples


def batches_by_size(
    sizes: Sequence[int],
    *,
    tokens: int,
    rows: int | None = None,
    apart: Callable[[int], int] = lambda size: 0,
) -> Iterator[list[int]]:
    """Numbers of examples, the largest first so that what needs too much memory fails at once.

    Args:
        sizes: of the examples.
        tokens: what a batch may hold, padding included; one example may be larger.
        rows: how many examples it may hold.
        apart: examples whose sizes give different numbers never share a batch.

    >>> list(batches_by_size([3, 1, 9, 2, 3], tokens=9))
    [[2], [0, 4, 3], [1]]
    """
    batch: list[int] = []
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        if batch:
            largest = sizes[batch[0]]
            full = (len(batch) + 1) * largest > tokens or len(batch) == rows
            if full or apart(sizes[number]) != apart(largest):
                yield batch
                batch = []
        batch.append(number)
    if batch:
        yield batch


def model_inputs(
    examples: Examples | Sequence[Example],
    numbers: Sequence[int],
    reads: Reads,
    device: torch.device,
    *,
    translates: bool,
) -> dict[str, Tensor]:
    """What a model reads of these examples, on its device; nothing of what they should be answered."""
    batch = questions([examples[number] for number in numbers], reads=reads, translates=translates)
    return {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
