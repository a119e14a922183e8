"""Regular expressions that cut text without white space into tokens, one for each language.

At every position the first matching alternative is taken; the last one is any single character, so nothing is
lost. Repetitions that could be tried from many positions are bounded or possessive, which keeps the time
linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .abbreviations import ENGLISH, FRENCH, GERMAN

_LETTER = r"[^\W\d_]"
_MARK = r"[\u0300-\u036f\u00ad]"  # combining accents and soft hyphens belong to the word around them
_WORD = rf"[^\W_]++(?:{_MARK}++[^\W_]*+|_++[^\W_]++)*+"
_END = r"(?!\w)"
_QUOTE = r"['’\u02bc]"  # inside words
_APOSTROPHE = r"['’\u02bc`\u00b4‘]"  # also those that are sometimes typed before an s or t
_EMOJI = "[\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2b05-\u2b55\U0001f300-\U0001faff]"
_DOMAINS = "com|org|net|edu|gov|info|biz|eu|uk|de|fr|ch|at|ca|au|nl|be|tv|io"
_ADDRESS = r"[^\s<>\"“”«»]*[^\s<>\"“”«».,;:!?'’)\]}…]"  # without the punctuation of the surrounding sentence

# Common to all languages.
_FIRST = [
    rf"(?i:https?|ftp)://{_ADDRESS}|(?i:www)\.{_ADDRESS}",
    r"[\w.+-]{1,64}+@[a-zA-Z0-9-]{1,63}(?:\.[a-zA-Z0-9-]{1,63}){1,8}",
    rf"(?:[a-zA-Z0-9][a-zA-Z0-9-]{{0,62}}\.){{1,8}}(?i:{_DOMAINS}){_END}(?:/{_ADDRESS}|/)?",
    r"[#@][a-zA-Z]\w{1,63}",  # tweets
    r"&(?:[a-z]{2,6}|#\d{1,6});|</?[a-zA-Z][a-zA-Z0-9]{0,15}/?>",  # HTML
    rf"[:;=][-'o^]?(?:[)(\]\[|]+{_END}|[DPp]{_END})|\^_+[\^~]|-_+-|<3+{_END}",  # :-) ;) =D ^_^
    rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_EMOJI}(?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d{_EMOJI})*",
]
# Fallbacks after the rules of the language: a word, a run of one mark, a single character.
_LAST = [_WORD, r"\.{2,}|[!?]+|-+|\*+|#+|_+|=+|~+|/+|\++|@+|''|``|."]


def _language(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join([*_FIRST, *alternatives, *_LAST]), re.DOTALL)


def _any_of(words: Iterable[str]) -> str:
    """The longest matching word, with no letter or digit right after its full stop.

    The lookahead for a full stop makes the common case, a word that is no abbreviation, fast.
    """
    alternatives = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return rf"(?=\w{{1,9}}\.)(?:{alternatives})(?![a-z0-9])"


def _parts(words: str) -> str:
    """The first part of a word, before its second part: ``gon-na`` matches *gon* in *gonna*."""
    first_parts = (word.split("-") for word in words.split())
    return rf"(?<!\w)(?i:{'|'.join(f'{first}(?={rest}{_END})' for first, rest in first_parts)})"


_ACRONYM = rf"{_LETTER}(?:\.{_LETTER})+(?:\.|{_END})|(?:{_LETTER}\.){{2,}}"
_INITIAL = rf"(?<!\w){_LETTER}\."
_SIGNED_NUMBER = rf"(?<![^(\[])[-+]\d+(?:[.,]\d+)*{_END}|(?<!\w)\.\d+{_END}"
_NUMBER = r"\d++(?:[.,:]\d++)++|\d++(?:/\d++){1,3}+(?!/\w)"  # 1,000.5 and 1/2, but 89 / 48 / EEC

# Compounds are cut at their hyphens, except after a prefix or before a suffix, as in Universal Dependencies
# for English; CoreNLP does the same for German.
_PREFIX = (
    "(?i:agro|anti|arch|bi|bio|co|contra|counter|cross|cyber|de|eco|ex|extra|inter|intra|macro|mega|micro|mid|mini"
    "|multi|neo|non|over|pan|para|post|pre|pro|pseudo|quasi|re|semi|sub|super|tri|ultra|un|uni|vice)"
)
_COMPOUND = (
    rf"(?:{_PREFIX}|[aeuxAEUX])-{_WORD}(?:-{_WORD})*+"
    rf"|{_WORD}-(?i:wise|fold|esque|fest|less|most){_END}|[A-Z]{{1,4}}[&+][A-Z]{{1,4}}{_END}"
)
_DECADE = rf"(?<!\w)(?:\d\d['’]s|['’]\d\ds?(?!['’]s)){_END}"  # 80's and '80s, but 1980 's and ' 80's
_CLITIC = rf"(?i:s|m|d|ll|re|ve){_END}"
# O'Neill, Dell'Alba; file.txt, but not "a great movie.The plot"
_GERMANIC_WORD = rf"{_WORD}(?:{_QUOTE}(?!{_CLITIC}){_WORD}|\.(?=[a-z\d]){_WORD}|@(?={_LETTER}){_WORD})*+"

_ENGLISH = _language(
    _any_of(ENGLISH.all),
    _parts("can-not gon-na wan-na got-ta lem-me gim-me du-nno do-nt does-nt did-nt"),
    _parts("['’]t-is ['’]t-was c['’]m-on y['’]-all d['’]-ye"),
    rf"(?<=du)n(?=no{_END})",
    rf"(?i:n{_APOSTROPHE}t){_END}|{_LETTER}+?(?=[nN]{_APOSTROPHE}[tT]{_END})",
    rf"(?<!\w)(?i:['’](?:n['’]|n{_END}|em{_END}|till?{_END}|cause{_END})|ol['’]{_END}|(?:[yd]['’]|['’]t)\Z)",
    _SIGNED_NUMBER,
    _NUMBER,
    _COMPOUND,
    _DECADE,
    rf"{_APOSTROPHE}{_CLITIC}",
    rf"{_ACRONYM}|(?!i){_INITIAL}",
    _GERMANIC_WORD,
)

_GERMAN = _language(
    _any_of(GERMAN.all),
    _SIGNED_NUMBER,
    rf"\d+-\d+(?![\w/-])|{_NUMBER}|(?<!\w)(?:\d{{1,3}}|[IVX]{{2,6}})\.(?![\w.])",
    rf"{_LETTER}{{2,40}}?str\.{_END}",  # Hauptstr.
    _COMPOUND,
    _DECADE,
    rf"{_APOSTROPHE}{_CLITIC}",
    rf"{_ACRONYM}|{_INITIAL}",
    _GERMANIC_WORD,
)

# Compounds stay whole; pronouns after a verb and elided words are cut off, except in words like lorsqu'il.
_PRONOUN = rf"(?i:(?:t-)?(?:il|elle|on|ils|elles)|je|tu|nous|vous|ce|moi|toi|le|la|les){_END}(?!-)"
_ELISION = rf"(?i:qu|[cdjlmnst]){_QUOTE}"
_FRENCH_WORD = (
    rf"{_WORD}(?:{_QUOTE}{_WORD}|-(?:(?<=à-)|(?!{_PRONOUN}|{_ELISION})){_WORD})*+(?:-(?={_ELISION}))?"
)

_FRENCH = _language(
    _any_of(FRENCH.all),
    rf"(?i:aujourd|quelqu|jusqu|lorsqu|puisqu|quoiqu|presqu|entr){_QUOTE}{_WORD}(?:-(?!{_PRONOUN}){_WORD})*",
    rf"(?<!\w){_ELISION}",
    rf"-{_PRONOUN}",
    _SIGNED_NUMBER,
    rf"[A-Z]?\d+(?:[-/]\d+)+|{_NUMBER}",
    rf"{_ACRONYM}|{_LETTER}\.(?:-{_LETTER}\.)+|{_INITIAL}",  # J.-P.
    _FRENCH_WORD,
)

PATTERNS = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH}
