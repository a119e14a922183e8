"""ListOps (Nangia and Bowman 2018): nested lists of digits, whose value is the class.

``[MAX 2 9 [MIN 4 7 ] 0 ]`` is 9. The lists are generated. Trees come from the brackets: a list is a node
labelled ``LIST`` over its operator, its arguments and its closing bracket. The operator is a leaf and not the
label, so that a system gets the same tokens whether it reads trees, labels of nodes, or words alone.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from treeformer.configuration import Settings
from treeformer.data.sample import Sample
from treeformer.data.tasks.task import TRAIN, GeneratedTask
from treeformer.trees import Tree, binarise
from treeformer.trees.tree import trusted_tree

OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "MAX": max,
    "MIN": min,
    "MED": lambda values: int(median(values)),  # of the two middle values the mean, rounded down
    "SUM_MOD": lambda values: sum(values) % 10,
}
CLOSE = "]"
LABEL = "LIST"
_CLASSES = tuple("0123456789")
_TRIES = 10_000  # to draw a list of the right length
_HELD_OUT = 4  # one of four lists is never in train


class ListsOfSplit(Settings):
    """The lists of one split. As many are drawn of each depth from ``min_depth`` to ``max_depth``."""

    lists: int = Field(ge=1, description="number of lists")
    seed: int = Field(description="seed of the generator; each split has its own")
    min_depth: int = Field(default=1, ge=1, description="lists inside each other, the outer one included")
    max_depth: int = Field(default=5, ge=1, description="largest depth")
    max_arguments: int = Field(default=5, ge=2, description="a list has 2 to this many arguments")
    nested: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="share of lists among the arguments that need not be one",
    )
    min_tokens: int = Field(default=4, ge=4, description="smallest number of tokens, brackets included")
    max_tokens: int = Field(default=100, ge=4, description="largest number of tokens, brackets included")

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> Self:
        if self.min_depth > self.max_depth:
            raise ValueError(f"max_depth: expected at least {self.min_depth}, got {self.max_depth}")
        smallest = max(self.min_tokens, 3 * self.max_depth + 1)  # an operator, two digits, a bracket
        if self.max_tokens < smallest:
            raise ValueError(f"max_tokens: expected at least {smallest}, got {self.max_tokens}")
        return self


class NestedList(NamedTuple):
    """A list: its operator, and its arguments from left to right, digits or lists."""

    operator: str
    arguments: tuple[int | NestedList, ...]


class ListOpsTask(GeneratedTask):
    """The value of nested lists of digits; scores are broken down by depth."""

    name: Literal["listops"]
    shape: Literal["lists", "binary"] = Field(
        default="lists",
        description="binary: the parts of a list are joined two by two, from left to right",
    )
    splits: Mapping[str, ListsOfSplit] = Field(description="lists of each split; train is required")

    @model_validator(mode="after")
    def _seeds_differ(self) -> Self:
        seeds = [split.seed for split in self.splits.values()]
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"splits: expected a seed of its own for each, got {seeds}")
        return self

    @property
    def class_names(self) -> tuple[str, ...]:
        return _CLASSES

    def generate(self, split: ListsOfSplit) -> Iterator[Sample]:
        """The lists of a split. No list of another split is in train."""
        generator = random.Random(split.seed)
        is_train = split is self.splits[TRAIN]
        for number in range(split.lists):
            depth = split.min_depth + number % (split.max_depth - split.min_depth + 1)
            tree, value = _draw(split, depth, generator, is_train=is_train)
            if self.shape == "binary":
                tree = binarise(tree, "left")
            yield Sample([tree], label=_CLASSES[value], group=depth)


def _draw(split: ListsOfSplit, depth: int, generator: random.Random, *, is_train: bool) -> tuple[Tree, int]:
    """A list of this depth, as long as the split allows, and its value."""
    for _ in range(_TRIES):
        drawn = random_list(depth, split.max_arguments, split.nested, generator)
        tree = tree_of(drawn)
        held_out = zlib.crc32(" ".join(tree.words).encode()) % _HELD_OUT == 0
        if split.min_tokens <= len(tree.words) <= split.max_tokens and held_out != is_train:
            return tree, value_of(drawn)
    raise ValueError(
        f"splits: no list of depth {depth} with {split.min_tokens} to {split.max_tokens} tokens "
        f"in {_TRIES:,} tries; allow more tokens"
    )


def random_list(depth: int, max_arguments: int, nested: float, generator: random.Random) -> NestedList:
    """A list of exactly this depth.

    One argument, at a random place, is a list of depth − 1. Each of the others is a list with probability
    ``nested``, of any smaller depth, else a digit.
    """
    count = generator.randint(2, max_arguments)
    deepest = generator.randrange(count)
    arguments: list[int | NestedList] = []
    for place in range(count):
        inner = 0
        if place == deepest:
            inner = depth - 1
        elif depth > 1 and generator.random() < nested:
            inner = generator.randint(1, depth - 1)
        if inner:
            arguments.append(random_list(inner, max_arguments, nested, generator))
        else:
            arguments.append(generator.randrange(10))
    return NestedList(generator.choice(list(OPERATORS)), tuple(arguments))


def value_of(argument: int | NestedList) -> int:
    """The value of a list or digit.

    >>> value_of(NestedList("MED", (1, 4, NestedList("SUM_MOD", (9, 9)), 5)))
    4
    """
    if isinstance(argument, int):
        return argument
    return OPERATORS[argument.operator]([value_of(inner) for inner in argument.arguments])


def tree_of(nested: NestedList) -> Tree:
    """The tree of a list; its words are the tokens.

    >>> print(tree_of(NestedList("MAX", (2, NestedList("MIN", (4, 7)), 0))))
    (LIST (OP [MAX) (DIGIT 2) (LIST (OP [MIN) (DIGIT 4) (DIGIT 7) (END ])) (DIGIT 0) (END ]))
    """
    words: list[str] = []
    tags: list[str] = []
    spans: list[tuple[int, int]] = []

    def add(word: str, tag: str) -> None:
        words.append(word)
        tags.append(tag)

    def read(part: int | NestedList) -> None:
        if isinstance(part, int):
            add(str(part), "DIGIT")
            return
        start = len(words)
        add(f"[{part.operator}", "OP")
        for argument in part.arguments:
            read(argument)
        add(CLOSE, "END")
        spans.append((start, len(words)))

    read(nested)
    return trusted_tree(tuple(words), tuple(tags), (LABEL,) * len(spans), tuple(spans))
