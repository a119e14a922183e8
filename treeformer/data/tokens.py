"""Tokens of target text and back: Moses for raw text, spaces for text that is tokenised already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

Tokens = Literal["moses", "given"]

_ENTITIES = {
    "&bar;": "|",
    "&#124;": "|",
    "&lt;": "<",
    "&gt;": ">",
    "&apos;": "'",
    "&quot;": '"',
    "&#91;": "[",
    "&#93;": "]",
    "&amp;": "&",
}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)))
_SPACE = re.compile(r"[ \t\r\n]+")


def unescape(text: str) -> str:
    """The text without the entities that Moses writes.

    >>> unescape("it &apos;s &amp;lt;")
    "it 's &lt;"
    """
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text)


def one_line(text: str) -> str:
    """The text with one space where it has white space; a no-break space belongs to its word."""
    return _SPACE.sub(" ", text).strip(" ")


def tokenize(text: str, tokens: Tokens, language: str) -> tuple[str, ...]:
    """The tokens of a text: by Moses, cased and unescaped; or as given, unescaped.

    >>> tokenize("Das war (fast) alles.", "moses", "de")
    ('Das', 'war', '(', 'fast', ')', 'alles', '.')
    """
    if tokens == "given":
        return tuple(unescape(token) for token in _SPACE.split(text) if token)
    return tuple(_tokenizer(language).tokenize(text, escape=False))


def detokenize(tokens: Sequence[str], language: str) -> str:
    """The tokens as running text, by the rules of Moses.

    >>> detokenize(["it", "'s", "late", "."], "en")
    "it's late."
    """
    return str(_detokenizer(language).detokenize(list(tokens), unescape=False))


@lru_cache
def _tokenizer(language: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=language)


@lru_cache
def _detokenizer(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=language)
