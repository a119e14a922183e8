"""Docstrings as the API reference shows them: examples become blocks of code, lines about fields a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_FIELD = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (?=\S)", re.MULTILINE)
_ROLE = re.compile(r":class:(?=`)")


class Examples(griffe.Extension):
    """Change each docstring before it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_lists(with_fences(_ROLE.sub("", obj.docstring.value)))


def with_fences(text: str) -> str:
    """The text with its examples, each up to the next empty line, as blocks of code."""
    text = re.sub(r"[ \t]*# doctest: .*", "", text)
    return _EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)


def with_lists(text: str) -> str:
    """The text with each paragraph of lines ``field: what it is`` as a list."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        _FIELD.sub(r"- `\1`: ", part) if _FIELD.match(part) and len(_FIELD.findall(part)) > 1 else part
        for part in paragraphs
    )
