"""What the benchmarks share: trees to work on, batches of them, time and memory."""

from __future__ import annotations

import argparse
import platform
import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import torch

from treeformer import Tree
from treeformer.analysis.costs import peak_bytes, seconds, synchronize, tree_inputs
from treeformer.trees import join, read_tree_lines

__all__ = [
    "batches_of",
    "parse_like",
    "peak_bytes",
    "print_machine",
    "seconds",
    "some_trees",
    "synchronize",
    "tree_inputs",
    "trees_argument",
]


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


def print_machine(device: str) -> None:
    """Which machine and versions the numbers below are from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.processor() or 'CPU'}"
    print(f"device: {name}; threads: {torch.get_num_threads()}")
    print(f"python {platform.python_version()}, torch {torch.__version__}")
