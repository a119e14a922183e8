"""Word vectors in text files, as those of GloVe, word2vec and fastText: a word and its numbers a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treeformer.data.sample import place
from treeformer.trees.errors import quoted
from treeformer.trees.files import numbered_lines

Vector = NDArray[np.float32]


def vector_width(path: Path) -> int:
    """How many numbers each word of this file has, as its first line tells."""
    for number, line in _lines(path):
        width = _told_width(line) or _numbers_at_the_end(line)
        if not width:
            raise _bad(path, number, "a word and its numbers", line)
        return width
    raise ValueError(f"{path}: expected a word and its numbers on each line, found an empty file")


def read_vectors(path: Path, words: Mapping[str, int]) -> dict[int, Vector]:
    """The vectors of these words, under the numbers that the words have.

    A word that the file does not have gets the vector of its lower case; of two lines with the same word the
    first counts. The file is read line by line, and only what is asked for is kept. Every line must have as
    many numbers as the first; whether they are numbers is looked at for these words alone.
    """
    width = vector_width(path)
    wanted = {*words, *(word.lower() for word in words)}
    found: dict[str, Vector] = {}
    for number, line in _lines(path):
        if number == 1 and _told_width(line):
            continue
        word, numbers = _parted(path, number, line, width)
        if word in wanted and word not in found:
            found[word] = _vector(path, number, numbers)
    known = ((row, word if word in found else word.lower()) for word, row in words.items())
    return {row: found[word] for row, word in known if word in found}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file; some programs end each with a space."""
    return ((number, line.rstrip(" \n")) for number, line in numbered_lines(path))


def _told_width(line: str) -> int:
    """The width in a first line as word2vec writes it, ``400000 300``; 0 if the line is another."""
    fields = line.split(" ")
    return int(fields[1]) if len(fields) == 2 and all(field.isdecimal() for field in fields) else 0


def _numbers_at_the_end(line: str) -> int:
    """How many of the fields after the first are numbers, counted from the end."""
    _, *fields = line.split(" ")
    count = 0
    while count < len(fields) and _is_number(fields[-1 - count]):
        count += 1
    return count


def _parted(path: Path, number: int, line: str, width: int) -> tuple[str, str]:
    """The word of a line, and its numbers as text.

    A word may have spaces inside, as some of glove.840B have. If its last part is a number, it is no such
    word, but a line with too many numbers.
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
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
            vector = np.array([float(field) for field in numbers.split(" ")], dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"{place(path, number)}: expected numbers after the word: {error}") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"{place(path, number)}: expected finite numbers, found {quoted(numbers)}")
    return vector


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _bad(path: Path, number: int, expected: str, line: str) -> ValueError:
    return ValueError(f"{place(path, number)}: expected {expected}, parted by spaces, found {quoted(line)}")
