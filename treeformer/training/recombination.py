"""New sentences out of those of a treebank: text for one parser to teach another where text is short."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from treeformer.trees import Tree

Words = tuple[str, ...]
Key = tuple[str, str, bool, bool]
_TRIES = 1000  # in a row without a new sentence, before it is given up
_VOWELS = frozenset("aeiouyhàâäéèêëîïôöùûüæœ")


class _Phrase(NamedTuple):
    """A phrase of a tree that may change places with others that have the same key."""

    start: int
    end: int
    key: Key  #: label, how it begins (in a word or a tag, and whether with a vowel), whether it is long


def recombined(trees: Iterable[Tree], count: int, *, seed: int = 1) -> list[Words]:
    """``count`` different sentences, none of them a sentence of the trees.

    In a sentence of n words up to 1 + n / 10 phrases make way for phrases of the same label from anywhere
    in the corpus, long for long and short for short: noun phrases for those that begin with the same word,
    so that gender and number mostly agree, other phrases for those that begin with the same tag, and with a
    vowel if they did (*l'*, *qu'*). Nothing else sees to it that a sentence is grammatical, or makes sense.
    """
    trees = list(trees)
    inside = Counter(word for tree in trees for word in tree.words[1:])
    found_phrases = [(tree, _phrases(tree)) for tree in trees]
    donors: defaultdict[Key, set[Words]] = defaultdict(set)
    for tree, phrases in found_phrases:
        for phrase in phrases:
            donors[phrase.key].add(_inner(tree, phrase, inside))
    choices = {key: sorted(words) for key, words in donors.items() if len(words) > 1}
    corpus = [
        (tree, tradable)
        for tree, phrases in found_phrases
        if (tradable := [phrase for phrase in phrases if phrase.key in choices])
    ]
    seen = {tree.words for tree in trees}
    chance = random.Random(seed)
    found: list[Words] = []
    tries = 0
    while len(found) < count:
        if tries == _TRIES or not corpus:
            raise ValueError(
                f"trees: expected enough of them for {count} new sentences, "
                f"found {len(found)} until {_TRIES} tries in a row gave nothing new"
            )
        words = _changed(*chance.choice(corpus), choices, chance)
        tries += 1
        if words not in seen:
            seen.add(words)
            found.append(words)
            tries = 0
    return found


def _phrases(tree: Tree) -> list[_Phrase]:
    """The phrases of at least two words that leave at least three others."""
    found = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if 2 <= end - start <= len(tree.words) - 3:
            first = tree.words[start].lower()
            begins = first if label == "NP" else tree.tags[start]
            found.append(_Phrase(start, end, (label, begins, first[0] in _VOWELS, end - start > 3)))
    return found


def _inner(tree: Tree, phrase: _Phrase, inside: Counter[str]) -> Words:
    """The words of a phrase as they are written inside a sentence, given how often each word is there."""
    first, *others = tree.words[phrase.start : phrase.end]
    if phrase.start == 0 and inside[first.lower()] > inside[first]:
        first = first.lower()
    return (first, *others)


def _changed(
    tree: Tree, phrases: list[_Phrase], choices: dict[Key, list[Words]], chance: random.Random
) -> Words:
    """The sentence with some of its phrases, none inside another, taken from elsewhere."""
    chosen: list[_Phrase] = []
    for phrase in chance.sample(phrases, len(phrases)):
        if all(phrase.end <= other.start or other.end <= phrase.start for other in chosen):
            chosen.append(phrase)
    words = list(tree.words)
    for phrase in sorted(chosen[: 1 + len(words) // 10], reverse=True):
        words[phrase.start : phrase.end] = chance.choice(choices[phrase.key])
    if tree.words[0][0].isupper():
        words[0] = words[0][0].upper() + words[0][1:]
    return tuple(words)
