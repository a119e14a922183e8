"""Small programs to use as parsers."""

from __future__ import annotations

import shlex
import sys

FLAT = "for line in sys.stdin: print('(X', *(f'(Y {word})' for word in line.split()), end=')\\n')"


def program(code: str) -> str:
    """The command that runs Python code."""
    return shlex.join([sys.executable, "-c", f"import sys, time\n{code}"])


def flat_but(word: str, reaction: str) -> str:
    """A program with a flat tree for each line, and a reaction to lines with a certain word."""
    return program(
        "for line in sys.stdin:\n"
        f"    if {word!r} in line.split(): {reaction}\n"
        "    print('(X', *(f'(Y {word})' for word in line.rstrip('\\n').split(' ')), end=')\\n')"
    )
