"""Where sentences end: decided for each token that may end one, from the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .abbreviations import ENGLISH, FRENCH, GERMAN, Abbreviations
from .token_patterns import PATTERNS

_TERMINAL = re.compile(r"\.\.?|[!?]+")
_DOTS = re.compile(r"\.{4,}")  # end a sentence before a capital letter; three dots do not, as in CoreNLP
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+")
_TWO_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}")
_ORDINAL = re.compile(r"\d{1,3}\.|[IVX]{2,}\.")
_CLOSING = frozenset(["'", '"', "''", "’", "”", "“", "»", "\u203a", ")", "]", "}"])
_OPENING = frozenset(["'", '"', "``", "`", "‘", "“", "„", "«", "\u2039", "(", "[", "{", "-", "–", "—"])
_SURELY_CLOSING = frozenset(["''", "”", "»", "\u203a", ")", "]", "}"])  # even after white space
_PARTNER = {"'": "'", '"': '"', "’": "‘", "“": "„"}  # these close after white space if the partner is open
_LONGEST_CACHED = 50  # characters
_CACHE_SIZE = 1 << 15  # pieces, which take a few megabytes


class Piece(NamedTuple):
    """Text between white space: its tokens, and the positions of those that may end a sentence."""

    tokens: tuple[str, ...]
    ends: tuple[int, ...]


class Splitter:
    """Splits the pieces of a paragraph into sentences of tokens, by the rules of one language."""

    def __init__(self, language: str) -> None:
        self._pattern = PATTERNS[language]
        self._words: Abbreviations = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH}[language]
        self._abbreviations = self._words.all - self._words.bound
        # An initial ends a sentence in English ("Episode I. The"), not in "z. B. Die" or "J. Le Pen".
        self._initials = _INITIALS if language == "en" else _TWO_INITIALS
        self._pieces: dict[str, Piece] = {}

    def sentences(self, pieces: Sequence[str]) -> list[list[str]]:
        """The sentences of one paragraph, given as its pieces between white space."""
        sentences: list[list[str]] = []
        sentence: list[str] = []
        ended = False
        for number, text in enumerate(pieces, start=1):
            piece = self._piece(text)
            if ended and not _closes(piece, sentence):
                sentences.append(sentence)
                sentence = []
                ended = False
            if not piece.ends or ended:
                sentence.extend(piece.tokens)
                continue
            following = pieces[number] if number < len(pieces) else ""
            *complete, sentence = self._cut(piece, sentence, following)
            sentences += complete
            ended = not sentence and bool(complete)
            if ended:  # closing marks may follow
                sentence = sentences.pop()
        return [*sentences, sentence] if sentence else sentences

    def _piece(self, text: str) -> Piece:
        """The tokens of a text without white space, from the cache if it was seen before."""
        piece = self._pieces.get(text)
        if piece is not None:
            return piece
        tokens = tuple(self._pattern.findall(text))
        ends = tuple(
            place
            for place, token in enumerate(tokens)
            if token[-1] in ".!?" and token not in self._words.bound
            if token in self._abbreviations
            or self._initials.fullmatch(token)
            or any(rule.fullmatch(token) for rule in (_TERMINAL, _DOTS, _ORDINAL))
        )
        piece = Piece(tokens, ends)
        if len(text) <= _LONGEST_CACHED:
            if len(self._pieces) == _CACHE_SIZE:
                self._pieces.clear()
            self._pieces[text] = piece
        return piece

    def _cut(self, piece: Piece, sentence: list[str], following: str) -> list[list[str]]:
        """The sentences that end in the piece, then the one that continues after it, often empty."""
        tokens = piece.tokens
        sentences: list[list[str]] = []
        start = 0
        for end in piece.ends:
            if end < start:
                continue
            sentence.extend(tokens[start:end])
            start = end + 1
            while start < len(tokens) and tokens[start] in _CLOSING:
                start += 1
            inside = start < len(tokens)
            if inside:
                word = tokens[start]
            else:
                word = next((token for token in self._piece(following).tokens if token not in _OPENING), "")
            ending, ends = self._judge(tokens[end], sentence, word, inside)
            sentence += ending
            sentence.extend(tokens[end + 1 : start])
            if ends:
                sentences.append(sentence)
                sentence = []
        sentence.extend(tokens[start:])
        return [*sentences, sentence]

    def _judge(self, token: str, before: list[str], word: str, inside: bool) -> tuple[list[str], bool]:
        """The token, perhaps split into a word and its full stop, and whether the sentence ends there.

        ``word`` comes next: ``inside`` the same piece, or after white space.
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
        """Whether a number with a full stop is an ordinal between the words before and the word after it."""
        words = self._words
        if not word or word in words.months or word in ",;/":
            return bool(word)
        if not token[0].isdigit():  # Friedrich II.
            return word[0].islower()
        return bool(before) and before[-1].lower() in words.before_ordinals and word not in words.openers


def _closes(piece: Piece, sentence: list[str]) -> bool:
    """Whether a piece after the end of a sentence belongs to it: closing marks, more final punctuation."""
    tokens = piece.tokens
    if len(tokens) == 1 and tokens[0] in _PARTNER:
        mark = tokens[0]
        partner = _PARTNER[mark]
        if mark == partner:
            return sentence.count(mark) % 2 == 1
        return sentence.count(partner) > sentence.count(mark)
    return all(token in _SURELY_CLOSING or _TERMINAL.fullmatch(token) for token in tokens)
