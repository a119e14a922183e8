"""What measurements share: batches over given trees, time and memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from treeformer.ops import TreeBatch
from treeformer.trees import Tree


def tree_inputs(
    trees: Sequence[Tree], vocab_size: int, labels: int, *, multiple: int = 8
) -> dict[str, Tensor]:
    """Inputs of a tree model: random tokens and labels over these trees, padded to few shapes."""
    batch = TreeBatch.from_trees(trees)
    n, m = (-(-size // multiple) * multiple for size in (batch.n, batch.m))
    attention_mask = torch.nn.functional.pad(batch.leaf_mask, (0, n - batch.n)).long()
    return {
        "input_ids": torch.randint(4, vocab_size, attention_mask.shape) * attention_mask,
        "attention_mask": attention_mask,
        "node_ids": torch.randint(labels, (len(trees), m)),
        "node_mask": torch.nn.functional.pad(batch.node_mask, (0, m - batch.m)),
        "node_spans": torch.nn.functional.pad(batch.spans, (0, 0, 0, m - batch.m)),
    }


def synchronize(device: str) -> None:
    """Wait until the GPU has done what it was asked for."""
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(run: Callable[[], object], device: str, *, repeat: int = 10, warm_up: int = 3) -> float:
    """Median wall time of ``run`` in seconds."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(repeat):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_bytes(run: Callable[[], object]) -> int:
    """The most GPU memory that ``run`` takes on top of what was there before."""
    run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
