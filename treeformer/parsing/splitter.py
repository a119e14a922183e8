"""Where sentences end: a decision about each token that may end one, from the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .abbreviations import ENGLISH, FRENCH, GERMAN, Abbreviations
from .token_patterns import PATTERNS

_TERMINAL = re.compile(r"\.\.?|[!?]+")
_DOTS = re.compile(r"\.{4,}")  # end a sentence before a capital letter; three dots do not, as in CoreNLP
_LETTERS_WITH_STOPS = re.compile(r"(?:[^\W\d_]\.)+")
_ORDINAL = re.compile(r"\d{1,3}\.|[IVX]{2,}\.")
_CLOSING = frozenset(["'", '"', "''", "’", "”", "“", "»", "\u203a", ")", "]", "}"])
_OPENING = frozenset(["'", '"', "``", "`", "‘", "“", "„", "«", "\u2039", "(", "[", "{", "-", "–", "—"])
_SURELY_CLOSING = frozenset(["''", "”", "»", "\u203a", ")", "]", "}"])  # even after white space
_PARTNER = {"'": "'", '"': '"', "’": "‘", "“": "„"}  # these close after white space what stands open
_LONGEST_REMEMBERED = 50  # characters
_REMEMBERED = 1 << 15  # pieces; text repeats itself, and 30,000 of them take a few megabytes


class Piece(NamedTuple):
    """Text between white space: its tokens, and the places of those that may end a sentence."""

    tokens: tuple[str, ...]
    ends: tuple[int, ...]


class Splitter:
    """Cuts the pieces of a paragraph into sentences of tokens, by the rules of one language."""

    def __init__(self, language: str) -> None:
        self._pattern = PATTERNS[language]
        self._words: Abbreviations = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH}[language]
        self._abbreviations = self._words.all
        self._initials_end = language == "en"  # "Episode I. The"; but "z. B. Die", "J. Le Pen"
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._read)

    def sentences(self, pieces: Sequence[str]) -> list[list[str]]:
        """The sentences of one paragraph, given as its pieces between white space."""
        found: list[list[str]] = []
        sentence: list[str] = []
        ended = False
        for number, text in enumerate(pieces, start=1):
            piece = self._piece(text)
            if ended and not _closes(piece, sentence):
                found.append(sentence)
                sentence = []
                ended = False
            if not piece.ends or ended:
                sentence.extend(piece.tokens)
                continue
            following = pieces[number] if number < len(pieces) else ""
            *complete, sentence = self._cut(piece, sentence, following)
            found += complete
            ended = not sentence and bool(complete)
            if ended:  # closing marks may still come
                sentence = found.pop()
        return [*found, sentence] if sentence else found

    def _piece(self, text: str) -> Piece:
        return self._remembered(text) if len(text) <= _LONGEST_REMEMBERED else self._read(text)

    def _read(self, text: str) -> Piece:
        tokens = tuple(self._pattern.findall(text))
        return Piece(tokens, tuple(place for place, token in enumerate(tokens) if self._may_end(token)))

    def _may_end(self, token: str) -> bool:
        if token[-1] not in ".!?" or token in self._words.bound:
            return False
        if _LETTERS_WITH_STOPS.fullmatch(token):
            return self._initials_end or len(token) > 2
        return token in self._abbreviations or any(
            rule.fullmatch(token) for rule in (_TERMINAL, _DOTS, _ORDINAL)
        )

    def _cut(self, piece: Piece, sentence: list[str], following: str) -> list[list[str]]:
        """The sentences that end in the piece, and last the one that goes on after it, often empty."""
        tokens = piece.tokens
        found: list[list[str]] = []
        start = 0
        for end in piece.ends:
            if end < start:
                continue
            sentence.extend(tokens[start:end])
            start = end + 1
            while start < len(tokens) and tokens[start] in _CLOSING:
                start += 1
            inside = start < len(tokens)
            word = tokens[start] if inside else self._first_word(following)
            ending, ends = self._judge(tokens[end], sentence, word, inside)
            sentence += ending
            sentence.extend(tokens[end + 1 : start])
            if ends:
                found.append(sentence)
                sentence = []
        sentence.extend(tokens[start:])
        return [*found, sentence]

    def _first_word(self, text: str) -> str:
        """The first token of the text that is not an opening mark, "" where there is none."""
        return next((token for token in self._piece(text).tokens if token not in _OPENING), "")

    def _judge(self, token: str, before: list[str], word: str, inside: bool) -> tuple[list[str], bool]:
        """The token, or the word and the full stop it is made of, and whether the sentence ends there.

        ``word`` comes next, ``inside`` the same piece or after white space.
        """
        words = self._words
        if _TERMINAL.fullmatch(token):
            return [token], not inside or word[0].isupper() or word in _OPENING
        if token in words.numbered:
            if word[:1].isdigit():
                return [token], False
        elif _ORDINAL.fullmatch(token):
            if self._is_ordinal(token, before, word):
                return [token], False
        else:
            by_capital = token in words.final or token[0] == "."
            return [token], word[:1].isupper() if by_capital else word in words.openers
        return [token[:-1], "."], not inside or word[0].isupper()

    def _is_ordinal(self, token: str, before: list[str], word: str) -> bool:
        words = self._words
        if not word or word in words.months or word in ",;/":
            return bool(word)
        if not token[0].isdigit():  # Friedrich II.
            return word[0].islower()
        return bool(before) and before[-1].lower() in words.before_ordinals and word not in words.openers


def _closes(piece: Piece, sentence: list[str]) -> bool:
    """Whether a piece after the end of a sentence still belongs to it: closing marks, more of the same."""
    tokens = piece.tokens
    if len(tokens) == 1 and tokens[0] in _PARTNER:
        mark = tokens[0]
        partner = _PARTNER[mark]
        if mark == partner:
            return sentence.count(mark) % 2 == 1
        return sentence.count(partner) > sentence.count(mark)
    return all(token in _SURELY_CLOSING or _TERMINAL.fullmatch(token) for token in tokens)
