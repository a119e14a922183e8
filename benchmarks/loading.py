"""Batches a second that one process makes of a prepared corpus, and how much of them is padding.

    python -m benchmarks.loading [PREPARED]

PREPARED is a folder that `treeformer prepare` wrote; without it examples are made up whose trees are about as
large as parsed sentences. A training step on a GPU takes 1 to 50 ms, so 1,000 batches a second are enough.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from benchmarks.common import parse_like
from treeformer.data.batching import BatchPlan, Reads, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.examples import Example, integers
from treeformer.data.split import Split, SplitWriter

TOKENS = 4096


def main() -> None:
    """Print speed, shapes and padding for systems that read trees and for those that read words."""
    parser = argparse.ArgumentParser(description="Speed of making batches.")
    parser.add_argument("prepared", nargs="?", type=Path, help="a prepared corpus; made up if left out")
    parser.add_argument("--split", default="train", help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of an update (default: %(default)s)")
    parser.add_argument("--examples", type=int, default=20_000, help="to make up (default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.prepared:
            split = PreparedCorpus.open(arguments.prepared)[arguments.split]
        else:
            split = made_up(arguments.examples, Path(folder) / "train.arrow")
        print(f"{len(split):,} examples, updates of {arguments.tokens} leaves and nodes")
        readers: tuple[Reads, ...] = ("trees", "words")
        for reads in readers:
            measure(split, reads, arguments.tokens)


def measure(split: Split, reads: Reads, tokens: int) -> None:
    """Print how fast a plan is made and carried out."""
    start = time.process_time()
    plan = BatchPlan(split.sizes, reads, tokens, seed=1)
    planned = time.process_time()
    updates = plan.epoch(0)
    ordered = time.process_time()
    shapes = len(set(map(plan.shape, updates)))
    print(
        f"{reads}: plan {planned - start:.2f} s, epoch {ordered - planned:.2f} s, {len(updates):,} updates, "
        f"{shapes} shapes, {plan.padding:.1%} padding"
    )
    begin = time.process_time()
    count = sum(1 for _ in loader(split, plan, 0))
    print(f"  {count / (time.process_time() - begin):,.0f} batches a second of processor time")


def made_up(count: int, path: Path) -> Split:
    """Pairs of about 20 leaves a side."""
    chance = random.Random(1)
    writer = SplitWriter()
    for _ in range(count):
        leaves = min(150, max(2, round(chance.lognormvariate(2.9, 0.6))))
        spans = parse_like(leaves, chance).spans
        targets = max(1, round(leaves * chance.lognormvariate(0, 0.2)))
        example = Example(integers(range(leaves)), integers(range(len(spans))), integers(spans))
        writer.add(example._replace(target_ids=integers(range(targets))))
    writer.write(path)
    return Split(path)


if __name__ == "__main__":
    main()
