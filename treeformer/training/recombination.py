"""New sentences from the phrases of a treebank: more text for a parser to label where text is scarce."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from treeformer.trees import Tree

Words = tuple[str, ...]
Key = tuple[str, str, bool, bool]
_ATTEMPTS = 1000  # without a new sentence, before giving up
_VOWELS = frozenset("aeiouyhàâäéèêëîïôöùûüæœ")


class _Phrase(NamedTuple):
    """A phrase of a tree, which phrases with the same key can replace."""

    start: int
    end: int
    key: Key  #: label, first word or tag, whether that begins with a vowel, whether the phrase is long


def recombine(trees: Iterable[Tree], count: int, *, seed: int = 1) -> list[Words]:
    """``count`` different sentences, none of them a sentence of the trees.

    In a sentence of n words, up to 1 + n / 10 phrases are replaced by phrases of the same label from anywhere
    in the corpus, long by long and short by short. Noun phrases are replaced by those with the same first
    word, so that gender and number mostly agree. Other phrases are replaced by those with the same first tag,
    and with a first vowel if they have one (*l'*, *qu'*). Sentences need not be grammatical or make sense.
    """
    trees = list(trees)
    inside = Counter(word for tree in trees for word in tree.words[1:])
    phrases = [_phrases(tree) for tree in trees]
    phrases_by_key: defaultdict[Key, set[Words]] = defaultdict(set)
    for tree, in_tree in zip(trees, phrases, strict=True):
        for phrase in in_tree:
            phrases_by_key[phrase.key].add(_words_inside(tree, phrase, inside))
    choices = {key: sorted(words) for key, words in phrases_by_key.items() if len(words) > 1}
    replaceable = [[phrase for phrase in in_tree if phrase.key in choices] for in_tree in phrases]
    corpus = [pair for pair in zip(trees, replaceable, strict=True) if pair[1]]
    seen = {tree.words for tree in trees}
    chance = random.Random(seed)
    sentences: list[Words] = []
    attempts = 0
    while len(sentences) < count:
        if attempts == _ATTEMPTS or not corpus:
            raise ValueError(
                f"trees: expected enough of them for {count} new sentences, "
                f"got {len(sentences)} until {_ATTEMPTS} attempts in a row gave nothing new"
            )
        words = _with_other_phrases(*chance.choice(corpus), choices, chance)
        attempts += 1
        if words not in seen:
            seen.add(words)
            sentences.append(words)
            attempts = 0
    return sentences


def _phrases(tree: Tree) -> list[_Phrase]:
    """The phrases of at least two words that leave at least three others."""
    phrases = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        if 2 <= end - start <= len(tree.words) - 3:
            first = tree.words[start].lower()
            begins = first if label == "NP" else tree.tags[start]
            phrases.append(_Phrase(start, end, (label, begins, first[0] in _VOWELS, end - start > 3)))
    return phrases


def _words_inside(tree: Tree, phrase: _Phrase, inside: Counter[str]) -> Words:
    """The words of a phrase as written inside a sentence, given how often words occur there."""
    first, *others = tree.words[phrase.start : phrase.end]
    if phrase.start == 0 and inside[first.lower()] > inside[first]:
        first = first.lower()
    return (first, *others)


def _with_other_phrases(
    tree: Tree, phrases: list[_Phrase], choices: dict[Key, list[Words]], chance: random.Random
) -> Words:
    """The sentence with some of its phrases replaced, none of them inside another."""
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
