"""What a model reads in pieces, told in whole words: which piece and node belongs to which word and node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from treeformer.data.processor import TreeProcessor
from treeformer.data.split import Example
from treeformer.trees import Tree, sentences


@dataclass(frozen=True)
class Reading:
    """A tree over words, and what a model reads of it.

    Parts of the tree are its words and then its nodes in post-order; what a model reads are places: leaves,
    which may be pieces of words, and then nodes, some of which are words in several pieces.
    """

    tree: Tree
    example: Example
    part_of: list[int]  #: for each place the part of the tree that it belongs to
    places: list[int]  #: for each part the place that speaks for it

    @property
    def leaves(self) -> int:
        """How many leaves the model reads."""
        return len(self.example.input_ids)

    def folded(self, values: Tensor) -> Tensor:
        """``[..., parts]``: sums of values ``[..., places]`` over the places of each part."""
        parts = torch.tensor(self.part_of, device=values.device)
        zeros = values.new_zeros(*values.shape[:-1], len(self.tree.words) + len(self.tree))
        return zeros.index_add(-1, parts[: values.shape[-1]], values)


def reading_of(tree: Tree, processor: TreeProcessor) -> Reading:
    """How a model reads a tree that is shaped as it reads it."""
    example = processor.encode(sentences(tree))
    lengths = [len(processor.vocabulary.ids(word)) for word in tree.words]
    starts = list(accumulate(lengths, initial=0))
    word_at = {start: word for word, start in enumerate(starts)}
    words = len(tree.words)
    part_of = [word for word, length in enumerate(lengths) for _ in range(length)]
    places = starts[:-1] + [-1] * len(tree)
    waiting: dict[tuple[int, int], list[int]] = {}
    for node, span in enumerate(tree.spans):
        waiting.setdefault(span, []).append(node)
    found: list[int] = []
    for start, end in reversed(example.node_spans.tolist()):  # from the top, so that the rest are words
        span = (word_at[start], word_at[end])
        nodes = waiting.get(span)
        found.append(words + nodes.pop() if nodes else span[0])
    for place, part in enumerate(reversed(found), start=len(part_of)):
        places[part] = place
    part_of += reversed(found)
    for span, nodes in waiting.items():  # of a chain the model read one node only
        for node in nodes:
            same = [words + other for other in range(len(tree)) if tree.spans[other] == span]
            places[words + node] = max(places[part] for part in same)
    return Reading(tree, example, part_of, places)
