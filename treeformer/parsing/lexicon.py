"""What the parser's network sees of a word: whether it is known, its pieces, and its shape."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

PIECES = 24  #: no word has more pieces than this
SHAPES = 64


class WordFeatures(NamedTuple):
    """What the network sees of one word."""

    known: int  #: place in the list of known words, 0 for an unknown one
    pieces: tuple[int, ...]  #: buckets of its prefixes, suffixes and trigrams
    shape: int  #: upper and lower case, digits, hyphens, punctuation as bits


class Lexicon:
    """Known words and hashed pieces.

    Args:
        words: known words in lower case, most frequent first.
        buckets: number of rows that all pieces share.
    """

    def __init__(self, words: Iterable[str], buckets: int) -> None:
        self.words = tuple(words)
        self.buckets = buckets
        self._places = {word: place for place, word in enumerate(self.words, start=1)}
        self.features = lru_cache(maxsize=200_000)(self._features)

    def _features(self, word: str) -> WordFeatures:
        lower = word.lower()
        pieces = tuple(zlib.crc32(piece.encode()) % self.buckets for piece in pieces_of(lower))
        return WordFeatures(self._places.get(lower, 0), pieces, shape_of(word))


def pieces_of(lower: str) -> list[str]:
    """Prefixes of up to 4 letters, suffixes of up to 5, and trigrams, each marked with its kind.

    >>> pieces_of("cats")
    ['<c', '<ca', '<cat', '<cats', 's>', 'ts>', 'ats>', 'cats>', 'cat', 'ats']
    """
    prefixes = ["<" + lower[:size] for size in range(1, 5) if size <= len(lower)]
    suffixes = [lower[-size:] + ">" for size in range(1, 6) if size <= len(lower)]
    trigrams = [lower[start : start + 3] for start in range(min(len(lower) - 2, PIECES - 9))]
    return prefixes + suffixes + trigrams


def shape_of(word: str) -> int:
    """A number below `SHAPES`: which of six things are true of the word."""
    facts = (
        word[:1].isupper(),
        any(letter.isupper() for letter in word[1:]),
        any(letter.islower() for letter in word),
        any(letter.isdigit() for letter in word),
        "-" in word[1:-1],
        all(unicodedata.category(letter)[0] in "PS" for letter in word),
    )
    return sum(fact << place for place, fact in enumerate(facts))
