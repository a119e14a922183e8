"""Word vectors from text files of GloVe, word2vec or fastText: a word and its numbers on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treeformer.data.sample import location
from treeformer.trees.errors import quoted
from treeformer.trees.files import numbered_lines

Vector = NDArray[np.float32]


def vector_width(path: Path) -> int:
    """The width of the vectors in a file, from its first line."""
    for number, line in _lines(path):
        width = _width_in_header(line) or _numbers_at_the_end(line)
        if not width:
            raise _bad(path, number, "a word and its numbers", line)
        return width
    raise ValueError(f"{path}: expected a word and its numbers on each line, found an empty file")


def read_vectors(path: Path, words: Mapping[str, int]) -> dict[int, Vector]:
    """The vectors of these words, by the id of the word.

    A word that is not in the file gets the vector of its lower-case form. If a word occurs twice, the first
    line is used. The file is streamed. Every line must end in as many numbers as the first; a word may
    contain spaces. Numbers are checked for the given words only.
    """
    width = vector_width(path)
    wanted = {*words, *(word.lower() for word in words)}
    vectors: dict[str, Vector] = {}
    for number, line in _lines(path):
        if number == 1 and _width_in_header(line):
            continue
        word, numbers = _split(path, number, line, width)
        if word in wanted and word not in vectors:
            vectors[word] = _vector(path, number, numbers)
    known = ((word_id, word if word in vectors else word.lower()) for word, word_id in words.items())
    return {word_id: vectors[word] for word_id, word in known if word in vectors}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file; some programs end each with a space."""
    return ((number, line.rstrip(" \n")) for number, line in numbered_lines(path))


def _width_in_header(line: str) -> int:
    """The width in the header that word2vec writes, ``400000 300``; 0 for another line."""
    fields = line.split(" ")
    is_header = len(fields) == 2 and all(field.isdecimal() and len(field) < 12 for field in fields)
    return int(fields[1]) if is_header else 0


def _numbers_at_the_end(line: str) -> int:
    """The number of numeric fields at the end of a line."""
    _, *fields = line.split(" ")
    count = 0
    while count < len(fields) and _is_number(fields[-1 - count]):
        count += 1
    return count


def _split(path: Path, number: int, line: str, width: int) -> tuple[str, str]:
    """The word of a line, and its numbers as text.

    A word may contain spaces, as some in glove.840B do. If the field before the expected numbers is also a
    number, the line is refused as having too many numbers.
    """
    inside = line.count(" ") - width
    word, _, numbers = line.partition(" ")
    if inside > 0:
        fields = line.split(" ")
        word, numbers = " ".join(fields[: inside + 1]), " ".join(fields[inside + 1 :])
    if not word or inside < 0 or (inside and _is_number(fields[inside])):
        raise _bad(path, number, f"a word and {width} numbers", line)
    return word, numbers


def _vector(path: Path, number: int, numbers: str) -> Vector:
    try:
        with np.errstate(over="ignore"):  # overflow gives infinity, which is refused below
            vector = np.array([float(field) for field in numbers.split(" ")], dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"{location(path, number)}: expected numbers after the word: {error}") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"{location(path, number)}: expected finite numbers, found {quoted(numbers)}")
    return vector


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _bad(path: Path, number: int, expected: str, line: str) -> ValueError:
    return ValueError(
        f"{location(path, number)}: expected {expected}, separated by spaces, found {quoted(line)}"
    )
