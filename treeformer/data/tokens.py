"""Target text to tokens and back: Moses for raw text, spaces for tokenised text."""

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
    """The text with the entities of Moses replaced by their characters.

    >>> unescape("it &apos;s &amp;lt;")
    "it 's &lt;"
    """
    return _ENTITY.sub(lambda entity: _ENTITIES[entity[0]], text)


def tokenize(text: str, tokens: Tokens, language: str) -> tuple[str, ...]:
    """The tokens of a text: by Moses, or split at white space where they are given; unescaped.

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
