"""``TreeCollator``: rows of a dataset to batches, for a DataLoader or the Trainer of transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from treeformer.data.batching import Reads
from treeformer.data.processor import TreeProcessor
from treeformer.trees import Tree


class TreeCollator:
    """A batch of model inputs and labels from texts or trees, padded to the longest.

    A row is a mapping with a ``text`` or a ``tree``, and a ``label`` if there are labels. A tree is a `Tree`
    or its brackets. A label is the name or the number of a class. Texts are parsed each time, so parse once
    and keep the trees if you train for more than one epoch.

    >>> batch = TreeCollator(processor)([{"text": "A fine film.", "label": "good"}])  # doctest: +SKIP

    Args:
        processor: makes the inputs.
        reads: ``words`` for models that read words alone.
    """

    def __init__(self, processor: TreeProcessor, *, reads: Reads = "trees") -> None:
        self.processor = processor
        self.reads = reads
        self._numbers = {name: number for number, name in enumerate(processor.settings.classes)}

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """The tensors of a batch; ``labels [B]`` if the rows have labels."""
        inputs = [self._input(row, number) for number, row in enumerate(rows, start=1)]
        batch = self.processor(inputs, reads=self.reads)
        if any("label" in row for row in rows):
            labels = [self._label(row, number) for number, row in enumerate(rows, start=1)]
            batch["labels"] = torch.tensor(labels)
        return batch

    def _input(self, row: Mapping[str, Any], number: int) -> str | Tree:
        """The text or tree of a row."""
        if not isinstance(row, Mapping) or not {"text", "tree"} & row.keys():
            raise ValueError(f"rows: expected a mapping with text or tree, got {row!r:.60} as row {number}")
        tree = row.get("tree")
        if tree is None:
            return row["text"]
        if isinstance(tree, Tree):
            return tree
        return Tree.from_brackets(tree, unary=self.processor.settings.unary)

    def _label(self, row: Mapping[str, Any], number: int) -> int:
        """The number of the class of a row."""
        label = row.get("label")
        value = self._numbers.get(label, label) if isinstance(label, str) else label
        if not isinstance(value, int) or not 0 <= value < len(self._numbers):
            names = ", ".join(self._numbers)
            raise ValueError(
                f"label: expected one of {names} or its number, got {label!r:.60} in row {number}"
            )
        return value
