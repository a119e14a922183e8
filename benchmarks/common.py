"""What the benchmarks share: trees to work on, batches of them, time and memory."""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from treeformer import Tree, TreeBatch
from treeformer.trees import join, read_tree_lines


def trees_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--trees``: real trees to measure on."""
    parser.add_argument(
        "--trees", type=Path, help="file of bracketed trees, one example a line; default: generated trees"
    )


def some_trees(path: Path | None, count: int, *, leaves: tuple[int, int] = (4, 60)) -> list[Tree]:
    """``count`` trees with ``leaves`` leaves, from the file or generated in the shape of parses."""
    if path is None:
        chance = random.Random(1)
        return [parse_like(round(chance.triangular(*leaves, 15)), chance) for _ in range(count)]
    found = []
    for trees in read_tree_lines(path):
        if trees:
            tree = trees[0] if len(trees) == 1 else join(trees)
            if leaves[0] <= len(tree.words) <= leaves[1]:
                found.append(tree)
        if len(found) == count:
            break
    return found


def parse_like(n: int, chance: random.Random) -> Tree:
    """A random tree over ``n`` words with about 0.7 nodes a word, as parsers make them after collapsing."""
    spans: list[tuple[int, int]] = []
    stack: list[tuple[int, int, bool]] = [(0, n, False)]
    while stack:
        start, end, done = stack.pop()
        if done:
            spans.append((start, end))
            continue
        stack.append((start, end, True))
        arity = min(end - start, chance.choice([2, 2, 2, 3, 3, 4]))
        cuts = [start, *sorted(chance.sample(range(start + 1, end), arity - 1)), end]
        stack += [(a, b, False) for a, b in reversed(list(pairwise(cuts))) if b - a > 1]
    return Tree(["word"] * n, ["X"] * n, ["X"] * len(spans), spans)


def batches_of(trees: Iterable[Tree], leaves: int, count: int) -> list[list[Tree]]:
    """``count`` batches of about ``leaves`` leaves each, of trees of like length, over all lengths alike."""
    batches: list[list[Tree]] = [[]]
    for tree in sorted(trees, key=lambda tree: len(tree.words)):
        if (len(batches[-1]) + 1) * len(tree.words) > leaves:
            batches.append([])
        batches[-1].append(tree)
    whole = batches[:-1]
    return [whole[round((k + 0.5) * len(whole) / count - 0.5)] for k in range(count)]


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


def print_machine(device: str) -> None:
    """Which machine and versions the numbers below are from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.processor() or 'CPU'}"
    print(f"device: {name}; threads: {torch.get_num_threads()}")
    print(f"python {platform.python_version()}, torch {torch.__version__}")
