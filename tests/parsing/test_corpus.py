"""Whole files: a line for a line, in order, and on again after an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from treeformer.parsing import Parser
from treeformer.parsing.corpus import CHUNK, parse_lines, write_lines
from treeformer.trees import Tree, read_tree_lines, right_branching


class WordParser(Parser):
    """Right-branching trees over the words between full stops."""

    name = "words"
    language = "en"

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        return [[right_branching(part.split()) for part in text.split(".") if part.split()] for text in texts]

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        return [right_branching(sentence) for sentence in sentences]


LINES = [f"word {number} . another" if number % 7 else "" for number in range(2 * CHUNK + 5)]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_line_gives_its_trees_in_order(workers: int) -> None:
    parsed = list(parse_lines(LINES, WordParser, workers=workers))
    assert [[tree.words for tree in trees] for trees in parsed] == [
        [("word", str(number)), ("another",)] if number % 7 else [] for number in range(len(LINES))
    ]
    whole = list(parse_lines(LINES, WordParser, tokenized=True, one_per_line=True, workers=workers))
    assert [[tree.words for tree in trees] for trees in whole] == [
        [tuple(line.split())] if line else [] for line in LINES
    ]


def test_a_line_is_one_sentence_only_if_one_says_so() -> None:
    def words(line: str, **how: bool) -> list[tuple[str, ...]]:
        return [tree.words for tree in next(parse_lines([line], WordParser, **how))]

    assert words("It rains. Go!", one_per_line=True) == [("It", "rains", ".", "Go", "!")]
    assert words("It rains . Go ! ”", tokenized=True) == [("It", "rains", "."), ("Go", "!", "”")]
    assert words("It rains. Go !", tokenized=True, one_per_line=True) == [("It", "rains.", "Go", "!")]


def test_what_was_done_is_kept_and_a_torn_line_done_again(tmp_path: Path) -> None:
    output, asked = tmp_path / "trees", []
    (tmp_path / "trees.partial").write_text("(X (X first))\n\n(X (X thi")

    def parsed(done: int) -> Iterator[list[Tree]]:
        asked.append(done)
        yield [right_branching(["third"])]

    assert write_lines(parsed, output) == 2
    assert asked == [2]
    words = [[tree.words for tree in trees] for trees in read_tree_lines(output)]
    assert words == [[("first",)], [], [("third",)]]
    assert not (tmp_path / "trees.partial").exists()


def test_a_killed_run_goes_on_without_a_lost_or_repeated_line(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.write_text("".join(f"The cat number {k} sleeps. It purrs.\n\n" for k in range(3000)))
    output, partial = tmp_path / "trees", tmp_path / "trees.partial"
    command = [sys.executable, "-m", "treeformer", "parse", str(texts), "--output", str(output)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (partial.exists() and partial.stat().st_size > 20_000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    assert not output.exists()
    subprocess.run(command, check=True, capture_output=True)
    lines = list(read_tree_lines(output, unary="keep"))
    assert len(lines) == 6000
    for number, trees in enumerate(lines[::2]):
        assert [len(tree.words) for tree in trees] == [6, 3]
        assert trees[0].words[3] == str(number)
    assert not any(lines[1::2])
