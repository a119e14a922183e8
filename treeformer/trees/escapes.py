r"""Words in bracket files: ``-LRB-`` and ``-RRB-`` stand for ``(`` and ``)``.

Both directions lose nothing. A word that really holds ``-LRB-`` is written ``\-LRB-``, and backslashes right
before such a place are doubled; every other backslash (``\/`` and ``\*`` in SST) stays as it is.

>>> decode_word("f-LRB-x-RRB-"), decode_word(r"1\/2"), encode_word("("), encode_word("-LRB-")
('f(x)', '1\\/2', '-LRB-', '\\-LRB-')
"""

import re

_ENCODED = re.compile(r"(?<!\\)((?:\\\\)*)(?:-([LR])RB-|\\(-[LR]RB)(?=-))")
_CRITICAL = re.compile(r"(?<!\\)(\\*+)([()]|-[LR]RB)")
_BRACKETS = {"L": "(", "R": ")"}
_CODES = {"(": "-LRB-", ")": "-RRB-"}


def decode_word(text: str) -> str:
    """The word that a bracket file means by ``text``."""
    return _ENCODED.sub(_decode_match, text) if "RB-" in text else text


def encode_word(word: str) -> str:
    """How a bracket file spells ``word``."""
    if "(" not in word and ")" not in word and "RB-" not in word:
        return word
    backwards: list[str] = []
    end = len(word)
    follower = ""
    for found in reversed(list(_CRITICAL.finditer(word))):
        rest = word[found.end() : end]
        follower = rest[:1] or follower
        slashes, core = found.groups()
        if core in _CODES:
            piece = slashes * 2 + _CODES[core]
        elif follower == "-":
            piece = slashes * 2 + "\\" + core
        else:
            piece = slashes + core
        backwards += (rest, piece)
        follower = piece[0]
        end = found.start()
    backwards.append(word[:end])
    return "".join(reversed(backwards))


def _decode_match(found: re.Match[str]) -> str:
    """What one encoded bracket, or one escaped look-alike, stands for."""
    doubled, side, literal = found.groups()
    return doubled[::2] + (_BRACKETS[side] if side else literal)
