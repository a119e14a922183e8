"""Bracket scores of one sentence, as the C program EVALB counts them with its parameter file COLLINS.prm.

Before it counts, EVALB changes both trees:

- Words tagged as traces, as punctuation or ``TOP`` go. Tags are compared whole, so ``-LRB-`` is a tag like
  any other, and ``,-X`` is no comma.
- A label ends before its first ``-`` or ``=``: ``NP-SBJ`` and ``NP=2`` are ``NP``, and a bracket ``-LRB-``
  has the empty label. ``ADVP`` and ``PRT`` are one label, and one tag.
- Brackets that are left without words go, and so do brackets labelled ``TOP`` or like punctuation. ``ROOT``,
  which is also what an outermost bracket without a label reads as, is another name of ``TOP``. Unary chains
  stay.

A sentence is scored if both trees then have the same words. It is *skipped* if there is no predicted tree, or
no word is left of it, and an *error* if the words differ because different words were deleted by their tags.
The length of a sentence is the number of words of its gold tree, punctuation included, traces left out.

We deviate where EVALB fails: words, brackets, characters and errors have no limit; trees over other
words are refused instead of counted as errors; and F1 is 0 where EVALB prints ``nan``.
"""

import re
from collections import Counter
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Self

from treeformer.trees import Tree

ADVERBS = "ADVP/PRT"
_TRACE = "-NONE-"
_DELETED_TAGS = frozenset(["TOP", _TRACE, ",", ":", "``", "''", "."])
_DELETED_LABELS = _DELETED_TAGS | {"ROOT"}
_EQUIVALENT = {"ADVP": ADVERBS, "PRT": ADVERBS}
_LABEL_END = re.compile("[-=]")

Bracket = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class BracketCounts:
    """How many brackets are in gold trees, in predicted trees, and in both; counts add up with ``+``."""

    matched: int = 0
    gold: int = 0
    predicted: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*[getattr(self, each.name) + getattr(other, each.name) for each in fields(self)])

    @property
    def precision(self) -> float:
        """Percentage of the predicted brackets that are gold."""
        return _ratio(100.0 * self.matched, self.predicted)

    @property
    def recall(self) -> float:
        """Percentage of the gold brackets that were predicted."""
        return _ratio(100.0 * self.matched, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent; 0 where nothing matches."""
        precision, recall = self.precision, self.recall
        return _ratio(2 * precision * recall, precision + recall)


@dataclass(frozen=True, slots=True)
class BracketScores(BracketCounts):
    """Counts over sentences, which add up with ``+``, and EVALB's percentages of them.

    ``errors`` and ``skipped`` are among the ``sentences``; everything else is counted over the other, valid
    ones. ``crossing`` is the number of predicted brackets that cross a gold one; ``uncrossed`` sentences have
    none, ``nearly_uncrossed`` ones at most two. ``complete`` sentences have exactly the gold brackets;
    ``exact`` ones also have all tags right. ``words`` are those not deleted.
    """

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    complete: int = 0
    exact: int = 0
    crossing: int = 0
    uncrossed: int = 0
    nearly_uncrossed: int = 0
    words: int = 0
    correct_tags: int = 0

    @property
    def valid(self) -> int:
        """Number of sentences that are scored."""
        return self.sentences - self.errors - self.skipped

    @property
    def complete_match(self) -> float:
        """Percentage of valid sentences with all brackets right."""
        return _ratio(100.0 * self.complete, self.valid)

    @property
    def exact_match(self) -> float:
        """Percentage of valid sentences with all brackets and all tags right."""
        return _ratio(100.0 * self.exact, self.valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per valid sentence."""
        return _ratio(1.0 * self.crossing, self.valid)

    @property
    def no_crossing(self) -> float:
        """Percentage of valid sentences without a crossing bracket."""
        return _ratio(100.0 * self.uncrossed, self.valid)

    @property
    def two_or_less_crossing(self) -> float:
        """Percentage of valid sentences with at most two crossing brackets."""
        return _ratio(100.0 * self.nearly_uncrossed, self.valid)

    @property
    def tag_accuracy(self) -> float:
        """Percentage of words with the right tag."""
        return _ratio(100.0 * self.correct_tags, self.words)


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """Length and scores of one sentence, and three counts of brackets: matched, gold, predicted."""

    length: int
    scores: BracketScores
    brackets: tuple[Counter[Bracket], ...] = ()


def score_sentence(gold: Tree, predicted: Tree | None) -> ScoredSentence:
    """Score one predicted tree, or None where there is none; ``ValueError`` if the words differ."""
    length = len(gold.words) - gold.tags.count(_TRACE)
    if predicted is None:
        return ScoredSentence(length, BracketScores(sentences=1, skipped=1))
    gold_words, gold_tags, gold_brackets = _counted(gold)
    words, tags, brackets = _counted(predicted)
    if not words or words != gold_words:
        _check_same_words(gold, predicted)
        status = BracketScores(sentences=1, errors=1) if words else BracketScores(sentences=1, skipped=1)
        return ScoredSentence(length, status)
    matched = brackets & gold_brackets
    crossing = _crossing(brackets, gold_brackets)
    complete = matched == gold_brackets == brackets
    scores = BracketScores(
        matched=matched.total(),
        gold=gold_brackets.total(),
        predicted=brackets.total(),
        sentences=1,
        complete=int(complete),
        exact=int(complete and tags == gold_tags),
        crossing=crossing,
        uncrossed=int(crossing == 0),
        nearly_uncrossed=int(crossing <= 2),
        words=len(words),
        correct_tags=sum([tag == gold_tag for tag, gold_tag in zip(tags, gold_tags, strict=True)]),
    )
    return ScoredSentence(length, scores, (matched, gold_brackets, brackets))


def _counted(tree: Tree) -> tuple[list[str], list[str], Counter[Bracket]]:
    """Words, tags and brackets of a tree after EVALB's deletions."""
    stays = [tag not in _DELETED_TAGS for tag in tree.tags]
    words = [word for word, kept in zip(tree.words, stays, strict=True) if kept]
    tags = [_EQUIVALENT.get(tag, tag) for tag, kept in zip(tree.tags, stays, strict=True) if kept]
    positions = list(accumulate(stays, initial=0))
    brackets: Counter[Bracket] = Counter()
    for full_label, (first, last) in zip(tree.labels, tree.spans, strict=True):
        label = _LABEL_END.split(full_label, maxsplit=1)[0]
        start, end = positions[first], positions[last]
        if start < end and label not in _DELETED_LABELS:
            brackets[_EQUIVALENT.get(label, label), start, end] += 1
    return words, tags, brackets


def _crossing(brackets: Counter[Bracket], gold: Counter[Bracket]) -> int:
    """Number of ``brackets`` that cross at least one of ``gold``."""
    gold_spans = {(start, end) for _, start, end in gold}
    return sum(
        count
        for (_, start, end), count in brackets.items()
        if (start, end) not in gold_spans
        and any(a < start < b < end or start < a < end < b for a, b in gold_spans)
    )


def _check_same_words(gold: Tree, predicted: Tree) -> None:
    """Raise ``ValueError`` if the words of two trees differ, traces left out."""
    expected, words = (
        [word for word, tag in zip(tree.words, tree.tags, strict=True) if tag != _TRACE]
        for tree in (gold, predicted)
    )
    for number, (gold_word, word) in enumerate(zip(expected, words, strict=False), start=1):
        if word != gold_word:
            raise ValueError(
                f"expected word {number} to be {gold_word!r:.60} as in the gold tree, found {word!r:.60}"
            )
    if len(words) != len(expected):
        raise ValueError(f"expected {len(expected)} words as in the gold tree, found {len(words)}")


def _ratio(part: float, whole: float) -> float:
    """``part / whole``, or 0 where ``whole`` is 0."""
    return part / whole if whole else 0.0
