"""Trees from nested pairs, to which formulas, JSON and XML documents are easily turned."""

import re
from collections.abc import Sequence
from typing import Any

from .errors import quoted
from .shape import Span
from .tree import Tree

Nested = tuple[str, str | Sequence[Any]]  #: (label, parts) or (tag, text)

_SPACES = re.compile(r"[ \t\r\n]+")


def from_nested(nested: Nested) -> Tree:
    """The tree of nested pairs ``(label, parts)``, with texts as ``(tag, text)``.

    Words of a text are separated by white space. A part without words is left out. In labels and tags, white
    space becomes ``_`` and brackets ``-LRB-`` and ``-RRB-``. A text alone is a tree of its tag.

    >>> print(from_nested(("sum", [("number", "1"), ("sign", "+"), ("name", "two words")])))
    (sum (number 1) (sign +) (name two) (name words))
    """
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    waiting: list[tuple[Any, int]] = [(nested, -1)]
    while waiting:
        part, start = waiting.pop()
        label, content = _checked(part)
        if isinstance(content, str):
            added = [word for word in _SPACES.split(content) if word]
            words += added
            tags += [label] * len(added)
        elif start < 0:
            waiting.append((part, len(words)))
            waiting += [(inner, -1) for inner in reversed(content)]
        elif start < len(words):
            labels.append(label)
            spans.append((start, len(words)))
    if not words:
        raise ValueError(f"nested: expected at least one word, got {quoted(nested)}")
    if not spans or spans[-1] != (0, len(words)):
        labels, spans = [tags[0]], [(0, len(words))]
    return Tree(words, tags, labels, spans)


def _checked(part: Any) -> tuple[str, Any]:
    """Label and content of a pair, the label as trees may hold it."""
    match part:
        case (str(label), str() | list() | tuple() as content) if label:
            return _SPACES.sub("_", label).replace("(", "-LRB-").replace(")", "-RRB-"), content
    raise ValueError(f"nested: expected (label, parts) or (tag, text), got {quoted(part)}")
