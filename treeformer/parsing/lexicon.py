"""Features of words for the parser's network: a known word, its pieces, and its shape."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from treeformer.caching import BUDGET, TextCache

PIECES = 24  #: largest number of pieces of a word
SHAPES = 64


class WordFeatures(NamedTuple):
    """The features of one word."""

    known: int  #: position in the list of known words, from 1; 0 for an unknown word
    pieces: tuple[int, ...]  #: buckets of its prefixes, suffixes and trigrams
    shape: int  #: bits for upper and lower case, digits, hyphens, punctuation


class Lexicon:
    """Known words and hashed pieces.

    Args:
        words: known words in lower case, most frequent first.
        buckets: number of rows that pieces are hashed to.
    """

    def __init__(self, words: Iterable[str], buckets: int) -> None:
        self.words = tuple(words)
        self.buckets = buckets
        self._places = {word: place for place, word in enumerate(self.words, start=1)}
        self.features = TextCache(self._features, budget=2 * BUDGET).__getitem__

    def _features(self, word: str) -> WordFeatures:
        lower = word.lower()
        pieces = tuple(zlib.crc32(piece.encode()) % self.buckets for piece in pieces_of(lower))
        return WordFeatures(self._places.get(lower, 0), pieces, shape_of(word))


def pieces_of(lower: str) -> list[str]:
    """Prefixes of up to 4 letters (marked ``<``), suffixes of up to 5 (marked ``>``), and trigrams.

    >>> pieces_of("cats")
    ['<c', '<ca', '<cat', '<cats', 's>', 'ts>', 'ats>', 'cats>', 'cat', 'ats']
    """
    prefixes = ["<" + lower[:size] for size in range(1, 5) if size <= len(lower)]
    suffixes = [lower[-size:] + ">" for size in range(1, 6) if size <= len(lower)]
    trigrams = [lower[start : start + 3] for start in range(min(len(lower) - 2, PIECES - 9))]
    return prefixes + suffixes + trigrams


def shape_of(word: str) -> int:
    """Six properties of a word as the bits of a number below `SHAPES`."""
    properties = (
        word[:1].isupper(),
        any(letter.isupper() for letter in word[1:]),
        any(letter.islower() for letter in word),
        any(letter.isdigit() for letter in word),
        "-" in word[1:-1],
        all(unicodedata.category(letter)[0] in "PS" for letter in word),
    )
    return sum(1 << bit for bit, holds in enumerate(properties) if holds)
