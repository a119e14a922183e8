"""New sentences out of those of a treebank: text for one parser to teach another where text is short."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from treeformer.trees import Tree

Words = tuple[str, ...]
_TRIES = 1000  # in a row without a new sentence, before it is given up


class _Phrase(NamedTuple):
    """A phrase of a tree that may change places with others that have the same key."""

    start: int
    end: int
    key: tuple[str, str, bool]  #: label, how it begins, whether it is long


def recombined(trees: Iterable[Tree], count: int, *, seed: int = 1) -> list[Words]:
    """``count`` different sentences, none of them a sentence of the trees.

    In a sentence of n words up to 1 + n / 10 phrases make way for phrases of the same label from anywhere
    in the corpus, long for long and short for short: noun phrases for those that begin with the same word,
    so that gender and number mostly agree, other phrases for those that begin with the same tag.
    """
    corpus = [(tree, phrases) for tree in trees if (phrases := _phrases(tree))]
    donors: defaultdict[tuple[str, str, bool], list[Words]] = defaultdict(list)
    for tree, phrases in corpus:
        for phrase in phrases:
            donors[phrase.key].append(_inner(tree, phrase))
    seen = {tree.words for tree, _ in corpus}
    chance = random.Random(seed)
    found: list[Words] = []
    tries = 0
    while len(found) < count:
        if tries == _TRIES or not corpus:
            raise ValueError(f"trees: expected enough for {count} new sentences, found {len(found)}")
        tree, phrases = chance.choice(corpus)
        words = _changed(tree, phrases, donors, chance)
        tries = tries + 1 if words in seen else 0
        if words not in seen:
            seen.add(words)
            found.append(words)
    return found


def _phrases(tree: Tree) -> list[_Phrase]:
    """The phrases of at least two words that leave at least three others."""
    found = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if 2 <= end - start <= len(tree.words) - 3:
            begins = tree.words[start].lower() if label == "NP" else tree.tags[start]
            found.append(_Phrase(start, end, (label, begins, end - start > 3)))
    return found


def _inner(tree: Tree, phrase: _Phrase) -> Words:
    """The words of a phrase as they are written inside a sentence."""
    first, *others = tree.words[phrase.start : phrase.end]
    if phrase.start == 0 and tree.tags[0] not in ("NOUN", "PROPN", "NNP"):
        first = first.lower()
    return (first, *others)


def _changed(
    tree: Tree,
    phrases: list[_Phrase],
    donors: dict[tuple[str, str, bool], list[Words]],
    chance: random.Random,
) -> Words:
    """The sentence with some of its phrases, none inside another, taken from elsewhere."""
    chosen: list[_Phrase] = []
    for phrase in chance.sample(phrases, len(phrases)):
        if all(phrase.end <= other.start or other.end <= phrase.start for other in chosen):
            chosen.append(phrase)
    words = list(tree.words)
    for phrase in sorted(chosen[: 1 + len(words) // 10], reverse=True):
        words[phrase.start : phrase.end] = chance.choice(donors[phrase.key])
    if tree.words[0][0].isupper():
        words[0] = words[0][0].upper() + words[0][1:]
    return tuple(words)
