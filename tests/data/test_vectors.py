"""Word vectors from text files."""

from __future__ import annotations

import gzip
import lzma
import tracemalloc
from pathlib import Path

import pytest

from treeformer.data.vectors import read_vectors, vector_width

WORDS = {"the": 4, "cat": 5, "Paris": 6, "US": 7, "dog": 8}


def file_of(folder: Path, text: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(path: Path) -> dict[int, list[float]]:
    return {row: vector.tolist() for row, vector in read_vectors(path, WORDS).items()}


def test_a_word_is_found_as_it_is_or_else_in_lower_case_wherever_it_stands(tmp_path: Path) -> None:
    path = file_of(tmp_path, "us 7 8\nThe 9 9\nUS 1 2\nparis 3 4\nthe 5 -6e-1\nUnasked 0 0\n")
    assert vector_width(path) == 2
    assert found(path) == {7: [1, 2], 6: [3, 4], 4: [5, pytest.approx(-0.6)]}


def test_of_two_lines_with_a_word_the_first_counts(tmp_path: Path) -> None:
    assert found(file_of(tmp_path, "cat 1 2\ncat 3 4\n")) == {5: [1, 2]}


@pytest.mark.parametrize("end", ["\n", " \n", "\r\n", ""])
def test_the_first_line_of_word2vec_is_no_word(tmp_path: Path, end: str) -> None:
    path = file_of(tmp_path, f"2 3\ncat 1 2 3{end or chr(10)}dog 4 5 6{end}")
    assert vector_width(path) == 3
    assert found(path) == {5: [1, 2, 3], 8: [4, 5, 6]}


def test_words_may_have_spaces_and_other_blanks_inside(tmp_path: Path) -> None:
    path = file_of(tmp_path, ". . . 1 2\ncat 3 4\nat name@domain.com 5 6\n8\u00a01/2 7 8\n\u2028 9 9\n")
    assert vector_width(path) == 2
    assert found(path) == {5: [3, 4]}
    asked = {"at name@domain.com": 1, "8\u00a01/2": 2, ". . .": 3}
    assert {row: vector.tolist() for row, vector in read_vectors(path, asked).items()} == {
        1: [5, 6],
        2: [7, 8],
        3: [1, 2],
    }


def test_archives_are_read_as_they_are(tmp_path: Path) -> None:
    text = b"cat 1 2\n"
    for name, packed in (("v.txt.gz", gzip.compress(text)), ("v.txt.xz", lzma.compress(text))):
        assert found(file_of(tmp_path, packed, name)) == {5: [1, 2]}


def test_what_is_not_asked_for_is_not_kept(tmp_path: Path) -> None:
    line = " ".join(["0.123456"] * 50)
    path = file_of(tmp_path, "".join(f"word{number} {line}\n" for number in range(20_000)) + f"cat {line}\n")
    tracemalloc.start()
    assert list(found(path)) == [5]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 9_000_000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"vectors\.txt: expected a word and its numbers on each line, found an empty file"),
        (f"3 {'9' * 5000}\nthe 1 2\n", r"vectors\.txt:2: expected a word and 1 numbers"),
        ("the\n", r"vectors\.txt:1: expected a word and its numbers, separated by spaces, found 'the'"),
        ("the\t1\t2\n", r"vectors\.txt:1: expected a word and its numbers, separated by spaces"),
        (
            "the 1 2\ndog 3\n",
            r"vectors\.txt:2: expected a word and 2 numbers, separated by spaces, found 'dog 3'",
        ),
        ("the 1 2\nbird 3 4 5\n", r"vectors\.txt:2: expected a word and 2 numbers.*found 'bird 3 4 5'"),
        ("3 2\nthe 1 2 3\n", r"vectors\.txt:2: expected a word and 2 numbers"),
        ("the 1 2\n\ndog 3 4\n", r"vectors\.txt:2: expected a word and 2 numbers.*found ''"),
        ("the 1 2\n 3 4\n", r"vectors\.txt:2: expected a word and 2 numbers.*found ' 3 4'"),
        ("the 1 2\ndog 3 x\n", r"vectors\.txt:2: expected numbers after the word: .*'x'"),
        ("the 1 2\ndog 3 nan\n", r"vectors\.txt:2: expected finite numbers, found '3 nan'"),
        ("the 1 2\ndog 3 1e39\n", r"vectors\.txt:2: expected finite numbers"),
        (b"the 1 2\nd\xffg 3 4\n", r"vectors\.txt:2:2: expected UTF-8, found the byte 0xff"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_bad_line_is_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_vectors(file_of(tmp_path, text), WORDS)
