"""Text to sentences of tokens, for English, German and French; no dependency and no download.

Tokens follow Stanford CoreNLP 4.5, since the parsers are trained on its trees, with two differences: no
character is changed, added or lost, and French contractions stay as they are written (*du*, not *de le*).
"""

from __future__ import annotations

import re
from functools import cache

from .splitter import Splitter

LANGUAGES = ("en", "de", "fr")

# Invisible characters (control characters, marks of width and direction) count as white space.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def tokenize(text: str, language: str) -> list[list[str]]:
    """The sentences of a text, each a list of tokens; ``[]`` for a text without words.

    Every character is in exactly one token, in order, except white space, which no token contains. Control
    characters, zero-width spaces, byte-order marks and marks of direction count as white space. A blank line
    ends a sentence, a single line break does not.

    >>> tokenize("Mr. Smith can't come at 5 p.m. It's a well-known problem (e.g. in the U.S. Senate).", "en")
    [['Mr.', 'Smith', 'ca', "n't", 'come', 'at', '5', 'p.m.'],
     ['It', "'s", 'a', 'well', '-', 'known', 'problem', '(', 'e.g.', 'in', 'the', 'U.S.', 'Senate', ')', '.']]
    >>> tokenize("Am 3. Mai kam z.B. Dr. Weiß. Er blieb bis zum 5. Juni.", "de")
    [['Am', '3.', 'Mai', 'kam', 'z.B.', 'Dr.', 'Weiß', '.'], ['Er', 'blieb', 'bis', 'zum', '5.', 'Juni', '.']]
    >>> tokenize("L'homme du coin qu'il aime viendra-t-il aujourd'hui ?", "fr")
    [["L'", 'homme', 'du', 'coin', "qu'", 'il', 'aime', 'viendra', '-t-il', "aujourd'hui", '?']]
    """
    splitter = _splitter(language)
    sentences: list[list[str]] = []
    paragraph: list[str] = []
    for line in _INVISIBLE.sub(" ", text).splitlines():
        pieces = line.split()
        if pieces:
            paragraph += pieces
        elif paragraph:
            sentences += splitter.sentences(paragraph)
            paragraph = []
    return sentences + splitter.sentences(paragraph)


def check_language(language: str) -> None:
    """Raise ``ValueError`` for a language without a tokeniser."""
    if language not in LANGUAGES:
        raise ValueError(f"language: expected one of {', '.join(LANGUAGES)}, got {language!r}")


@cache
def _splitter(language: str) -> Splitter:
    check_language(language)
    return Splitter(language)
