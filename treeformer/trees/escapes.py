r"""Words in bracket files: ``-LRB-`` and ``-RRB-`` stand for ``(`` and ``)``.

Encoding is lossless. A word that literally contains ``-LRB-`` is written ``\-LRB-``. Backslashes directly
before an encoded bracket or an escaped ``-LRB-`` are doubled; all others (``\/`` and ``\*`` in SST) are kept.

>>> decode_word("f-LRB-x-RRB-"), decode_word(r"1\/2"), encode_word("("), encode_word("-LRB-")
('f(x)', '1\\/2', '-LRB-', '\\-LRB-')
"""

import re

_ENCODED = re.compile(r"(?<!\\)((?:\\\\)*)(?:-([LR])RB-|\\(-[LR]RB)(?=-))")
_NEEDS_ESCAPE = re.compile(r"(?<!\\)(\\*+)([()]|-[LR]RB)")
_BRACKETS = {"L": "(", "R": ")"}
_CODES = {"(": "-LRB-", ")": "-RRB-"}


def decode_word(text: str) -> str:
    """The word that ``text`` stands for in a bracket file."""
    return _ENCODED.sub(_decode_match, text) if "RB-" in text else text


def encode_word(word: str) -> str:
    """The spelling of ``word`` in a bracket file."""
    if "(" not in word and ")" not in word and "RB-" not in word:
        return word
    backwards: list[str] = []
    end = len(word)
    follower = ""  # the encoded character after the match: before "-", a literal -LRB needs its backslash
    for match in reversed(list(_NEEDS_ESCAPE.finditer(word))):
        rest = word[match.end() : end]
        follower = rest[:1] or follower
        slashes, core = match.groups()
        if core in _CODES:
            piece = slashes * 2 + _CODES[core]
        elif follower == "-":
            piece = slashes * 2 + "\\" + core
        else:
            piece = slashes + core
        backwards += (rest, piece)
        follower = piece[0]
        end = match.start()
    backwards.append(word[:end])
    return "".join(reversed(backwards))


def _decode_match(match: re.Match[str]) -> str:
    """The text of one encoded bracket, or of one escaped ``-LRB-``."""
    doubled, side, literal = match.groups()
    return doubled[::2] + (_BRACKETS[side] if side else literal)
