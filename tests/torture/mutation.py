"""Random inputs: texts, bytes, trees and nested values, valid ones and damaged ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from treeformer.trees import Tree
from treeformer.trees.shape import post_order

WORDS = [
    *(
        "the",
        "cat",
        ".",
        "<&\"'>",
        "e\u0301",
        "\\/",
        "\\*",
        "-LRB-",
        "-RRB-",
        "-LRB",
        "RRB-",
        "-",
        "(",
        ")",
        "\\",
    ),
    *(
        "a",
        "8\u00a01\\/2",
        "猫",
        "🙂",
        "\u2028",
        "\x00",
        "\x0b",
        "\x85",
        "\ufeff",
        "''",
        "``",
        "don't",
        "U.S.",
        "3,5",
    ),
]
LABELS = [
    "S",
    "NP",
    "VP",
    "NP-SBJ-1",
    "NP=2",
    "PRT|ADVP",
    "@S",
    "3",
    "PRP$",
    "-LRB-",
    "-NONE-",
    "DOC",
    "X+Y",
    "é",
]
TOKENS = [
    *(
        "(",
        ")",
        "((",
        "))",
        "(S ",
        "(NP",
        "(NN dog)",
        "(-NONE- *)",
        "()",
        "( )",
        "\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "\0",
    ),
    *(
        "\ufeff",
        "\u2028",
        "\udcff",
        "\ud800",
        "é",
        "🙂",
        "NaN",
        "1e999",
        "-1",
        "9" * 40,
        "0",
        "null",
        "true",
        '"',
    ),
    *(
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        "'",
        "|",
        "&a ",
        "*a",
        "!!python/object",
        "- ",
        "#",
        "%",
        "\\u0000",
        "\\ud800",
    ),
    *(
        "2026-13-45",
        "1:99",
        "<<",
        "?",
        "=",
        ".inf",
        "~",
        "--",
        "_",
        "0x",
        "0o9",
        "1_0",
        "(" * 300,
        "[" * 2000,
    ),
]
VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        10**6,
        2**31,
        2**63,
        10**30,
        -(2**64),
        0.5,
        1e308,
        -0.0,
        "",
        "a",
        "1",
        "nan",
    ),
    *(
        "\n",
        "a\nb",
        "é",
        "🙂",
        "x" * 300,
        [],
        {},
        [[]],
        [1],
        ["a"],
        {"a": 1},
        {"": ""},
        [None],
        {"name": "sst"},
    ),
    *(float("nan"), float("inf"), "2026-13-45", "../../etc/passwd", "/dev/zero", "corenlp", "\0", "\ud800"),
]


def random_tree(generator: Random) -> Tree:
    """A tree of up to twelve leaves, with unary chains."""
    count = generator.randint(1, 12)
    parts = [(leaf, leaf + 1) for leaf in range(count)]
    spans = [part for part in parts if generator.random() < 0.1]
    while len(parts) > 1:
        first = generator.randrange(len(parts) - 1)
        stop = min(len(parts), first + generator.randint(2, 5))
        span = (parts[first][0], parts[stop - 1][1])
        spans += [span] * generator.choice([1, 1, 1, 2, 3])
        parts[first:stop] = [span]
    if not spans:
        spans.append((0, 1))
    spans.sort(key=post_order)
    return Tree(
        [word(generator) for _ in range(count)],
        [label(generator) for _ in range(count)],
        [label(generator) for _ in spans],
        spans,
    )


def word(generator: Random) -> str:
    """A word: of a list, several of them together, or any characters."""
    choice = generator.random()
    if choice < 0.7:
        return _without(generator.choice(WORDS), " \t\r\n")
    if choice < 0.9:
        return _without("".join(generator.choices(WORDS, k=generator.randint(2, 4))), " \t\r\n")
    return _without(characters(generator, 5), " \t\r\n")


def label(generator: Random) -> str:
    """A label or a tag."""
    if generator.random() < 0.9:
        return generator.choice(LABELS)
    return _without(characters(generator, 3), " \t\r\n()")


def characters(generator: Random, longest: int) -> str:
    """Any characters that UTF-8 can hold."""
    codes = [generator.choice((0x7F, 0x2FF, 0xD7FF, 0x1FFFF)) for _ in range(generator.randint(1, longest))]
    text = "".join(chr(generator.randint(1, code)) for code in codes)
    return "".join(letter for letter in text if not "\ud800" <= letter <= "\udfff") or "x"


def line_of_text(generator: Random) -> str:
    """A line as people write them, or not at all."""
    words = [
        generator.choice(WORDS) if generator.random() < 0.8 else characters(generator, 6) for _ in range(8)
    ]
    return " ".join(words[: generator.randint(0, 8)])


def damaged(generator: Random, text: str, tokens: Sequence[str] = TOKENS) -> str:
    """The text after one to four changes: parts lost, doubled, moved, replaced."""
    for _ in range(generator.choice([1, 1, 2, 4])):
        start = generator.randint(0, len(text))
        end = min(len(text), start + generator.choice([0, 1, 1, 2, 8, 50]))
        match generator.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                text = text[:start]
            case 3:
                place = generator.randint(0, len(text))
                text = text[:place] + text[start:end] + text[place:]
            case _:
                text = text[:start] + generator.choice(tokens) + text[end:]
    return text


def damaged_bytes(generator: Random, content: bytes) -> bytes:
    """The bytes after one to four changes: bits flipped, parts lost, zeroed or random."""
    changed = bytearray(content)
    for _ in range(generator.choice([1, 1, 2, 4])):
        start = generator.randint(0, max(len(changed) - 1, 0))
        size = generator.choice([1, 1, 4, 8, 64])
        match generator.randrange(6):
            case 0:
                del changed[start : start + size]
            case 1:
                changed[start : start + size] = generator.randbytes(len(changed[start : start + size]))
            case 2:
                del changed[start:]
            case 3:
                changed[start:start] = generator.choice(
                    [b"\xff" * size, bytes(size), generator.randbytes(size)]
                )
            case _:
                if changed:
                    changed[start] ^= 1 << generator.randrange(8)
    return bytes(changed)


def damaged_value(generator: Random, value: Any) -> Any:
    """A copy of a nested value, with some parts removed, added or replaced by others."""
    rate = generator.choice([0.02, 0.05, 0.3])

    def copy(part: Any) -> Any:
        choice = generator.random()
        if choice < rate / 2:
            return generator.choice(VALUES)
        if choice < rate / 2 + 0.002:
            for _ in range(generator.choice([3, 50, 3000])):
                part = [part] if generator.random() < 0.5 else {"a": part}
            return part
        if isinstance(part, dict):
            items = {key: copy(item) for key, item in part.items() if generator.random() > rate / 8}
            if generator.random() < rate / 4:
                items[generator.choice([*part, "", "a", "name", "x.y"])] = generator.choice(VALUES)
            return items
        if isinstance(part, list):
            items = [copy(item) for item in part if generator.random() > rate / 8]
            if items and generator.random() < rate / 4:
                items.append(generator.choice(items))
            return items
        return part

    return copy(value)


def dumped(value: Any) -> str:
    """The value as JSON; brackets that never close for one that is nested too deeply for Python's writer."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "[" * 100_000


def _without(text: str, forbidden: str) -> str:
    """The text without some characters, never empty."""
    return "".join(letter for letter in text if letter not in forbidden) or "x"
