"""Random examples and splits for the tests of batches."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from benchmarks.common import parse_like
from treeformer.data.examples import Example, integers
from treeformer.data.split import Split, SplitWriter


def random_example(chance: random.Random, *, leaves: int, translation: bool) -> Example:
    """An example with ``leaves`` leaves under a random tree, with a target, or targets on some phrases."""
    spans = parse_like(leaves, chance).spans

    def numbers(count: int, low: int = 4, high: int = 50) -> np.ndarray:
        return integers([chance.randrange(low, high) for _ in range(count)])

    if translation:
        return Example(
            numbers(leaves),
            numbers(len(spans)),
            integers(spans),
            target_ids=numbers(chance.randint(1, 2 * leaves)),
        )
    targets = [chance.choice([-100, 0, 1, 2]) for _ in range(leaves + len(spans))]
    return Example(
        numbers(leaves),
        numbers(len(spans)),
        integers(spans),
        integers(targets[:leaves]),
        integers(targets[leaves:]),
        label=chance.randrange(3),
        group=chance.randrange(4),
    )


def random_split(path: Path, count: int, *, translation: bool = False, seed: int = 1) -> Split:
    """A split of ``count`` random examples of 1 to 40 leaves, written and opened."""
    chance = random.Random(seed)
    writer = SplitWriter()
    for _ in range(count):
        example = random_example(chance, leaves=chance.randint(1, 40), translation=translation)
        texts = {"target_text": "Ja!", "target_tokens": "Ja !"} if translation else {}
        writer.add(example, **texts)
    writer.write(path)
    return Split(path)
