"""``Reading``: one text as a model reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from treeformer.data.examples import Example, integers
from treeformer.data.vocabulary import IGNORED
from treeformer.parsing.failures import Failure
from treeformer.trees import Tree
from treeformer.trees.shape import Span, post_order

if TYPE_CHECKING:
    from torch import Tensor

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Reading:
    """One text as a model reads it: its tree over words, the ids, and the alignment of the two.

    A *part* is a word or a node of the tree: words first, then nodes in post-order. A *place* is a position
    of the model's input: pieces of words first, then nodes. A word of several pieces has a node of its own,
    labelled with its tag.

    text: as it was given; the words of a tree that was given.
    tree: over whole words, shaped as the model needs it (binary, collapsed, or a control tree).
    example: the ids that the model reads.
    piece_starts: word ``w`` is the pieces from ``piece_starts[w]`` to ``piece_starts[w + 1]``.
    node_parts: the part that each node of the example belongs to.
    failures: sentences that the parser failed on; their trees are flat.
    """

    text: str
    tree: Tree
    example: Example
    piece_starts: tuple[int, ...]
    node_parts: tuple[int, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of pieces."""
        return self.piece_starts[-1]

    @cached_property
    def places_of_spans(self) -> dict[Span, int]:
        """The place of each span of a word or node, in post-order; a node replaces a word of its span."""
        words = len(self.tree.words)
        places = {(word, word + 1): self.place_of[word] for word in range(words)}
        places |= dict(zip(self.tree.spans, self.place_of[words:], strict=True))
        return {span: places[span] for span in sorted(places, key=post_order)}

    def text_of(self, span: Span) -> str:
        """The words of a span, with spaces between them."""
        return " ".join(self.tree.words[slice(*span)])

    @cached_property
    def part_of(self) -> list[int]:
        """The part that each place belongs to."""
        counts = zip(self.piece_starts, self.piece_starts[1:], strict=False)
        pieces = [word for word, (start, end) in enumerate(counts) for _ in range(start, end)]
        return [*pieces, *self.node_parts]

    @cached_property
    def place_of(self) -> list[int]:
        """The place that represents each part: its node, or the only piece of a word."""
        words = len(self.tree.words)
        places = {word: start for word, start in enumerate(self.piece_starts[:-1])}
        places |= {part: place for place, part in enumerate(self.node_parts, start=self.piece_starts[-1])}
        for node, (first, _) in enumerate(self.tree.spans):
            places.setdefault(words + node, places[first])  # the node of the word's pieces took its place
        return [places[part] for part in range(words + len(self.tree))]

    def sum_by_part(self, values: Tensor) -> Tensor:
        """``[..., parts]``: sums of ``values [..., places]``; the values of nodes may be left out."""
        import torch

        parts = torch.tensor(self.part_of[: values.shape[-1]], device=values.device)
        sums = values.new_zeros(*values.shape[:-1], len(self.tree.words) + len(self.tree))
        return sums.index_add(-1, parts, values)

    def with_targets(self, targets: Mapping[Span, int]) -> Example:
        """The example with targets, given as classes by span of words.

        The target of a word in several pieces stands on its node; its pieces have none.
        """
        words = len(self.tree.words)
        spans = [(word, word + 1) for word in range(words)] + list(self.tree.spans)
        leaf_targets = [
            targets.get(spans[word], IGNORED) if self.place_of[word] == place else IGNORED
            for place, word in enumerate(self.part_of[: self.leaves])
        ]
        node_targets = [targets.get(spans[part], IGNORED) for part in self.node_parts]
        return self.example._replace(leaf_targets=integers(leaf_targets), node_targets=integers(node_targets))


def answer_each(
    readings: Sequence[Reading | None], answer: Callable[[list[Reading]], Sequence[Answer]]
) -> list[Answer | None]:
    """Answers to all readings at once, None for texts without words."""
    numbers = [number for number, reading in enumerate(readings) if reading is not None]
    answers = answer([reading for reading in readings if reading is not None])
    by_number = dict(zip(numbers, answers, strict=True))
    return [by_number.get(number) for number in range(len(readings))]
