"""Docstrings for the API reference: examples become code blocks, lines about fields become lists."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_FIELD = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (?=\S)", re.MULTILINE)
_ROLE = re.compile(r":class:(?=`)")


class Examples(griffe.Extension):
    """Rewrites each docstring before it is rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_lists(with_fences(_ROLE.sub("", obj.docstring.value)))


def with_fences(text: str) -> str:
    """The text with its examples, each up to the next empty line, as code blocks."""
    text = re.sub(r"[ \t]*# doctest: .*", "", text)
    return _EXAMPLE.sub(lambda example: f"{example[1]}```pycon\n{example[0]}\n{example[1]}```", text)


def with_lists(text: str) -> str:
    """The text with each paragraph of lines ``field: what it is`` as a list."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        _FIELD.sub(r"- `\1`: ", part) if _FIELD.match(part) and len(_FIELD.findall(part)) > 1 else part
        for part in paragraphs
    )
