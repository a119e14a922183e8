"""Trees of a text together with the sentences that the parser failed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treeformer.trees import Tree


class FlatTreeWarning(UserWarning):
    """A sentence was given a flat tree, because the parser failed on it."""


@dataclass(frozen=True)
class Failure:
    """A sentence that the parser failed on, its words separated by spaces, and the reason."""

    sentence: str
    reason: str


class Parsed(NamedTuple):
    """The trees of one text. Those of sentences in ``failures`` are flat."""

    trees: list[Tree]
    failures: list[Failure]


def flat_tree(words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """All words in one constituent, for a sentence that could not be parsed.

    >>> print(flat_tree(["so", "it", "is"]))
    (ROOT (FRAG (X so) (X it) (X is)))
    """
    whole = (0, len(words))
    return Tree(words, tags or ["X"] * len(words), ["FRAG", "ROOT"], [whole, whole])


def failed(words: Sequence[str], reason: str, tags: Sequence[str] | None = None) -> Parsed:
    """The flat tree of a sentence that could not be parsed, with the reason."""
    return Parsed([flat_tree(words, tags)], [Failure(" ".join(words), reason)])


def joined(parts: Sequence[Parsed]) -> Parsed:
    """Trees and failures of several sentences as those of one text."""
    return Parsed(
        [tree for part in parts for tree in part.trees],
        [failure for part in parts for failure in part.failures],
    )
