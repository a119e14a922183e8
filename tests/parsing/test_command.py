"""Any program as a parser: what it writes is checked line by line."""

from __future__ import annotations

import pytest

from tests.cli.command import treeformer
from tests.parsing.programs import FLAT, program
from treeformer.parsing.command import CommandParser


def test_its_trees_have_the_given_tokens() -> None:
    sentences = [["a", "(", "b)", "é", "-LRB-", "f(x)"], ["c"]]
    trees = CommandParser(program(FLAT)).parse_tokens(sentences)
    assert [list(tree.words) for tree in trees] == sentences
    assert CommandParser(program(FLAT)).parse_tokens([]) == []
    assert [len(trees) for trees in CommandParser(program(FLAT)).parse_texts(["It rains. Go!", ""])] == [2, 0]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('(X (Y a))')", "expected 2 lines of trees, got 1"),
        ("print('(X (Y a))'); print('(X (Y c))')", r"line 2, word 1: expected 'b' as given, got 'c'"),
        ("print('(X (Y a))'); print('(X (Y b) (Y b))')", "line 2: expected 1 words, got 2"),
        ("print('(X (Y a))'); print('(X')", "line 2 is no tree"),
        ("sys.stdout.buffer.write(b'(X (Y \\xff))')", "expected UTF-8"),
        ("sys.exit('out of ideas')", "ended with status 1: out of ideas"),
        ("import time; time.sleep(60)", "took longer than 5 s"),
    ],
)
def test_output_that_does_not_match_is_refused(code: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CommandParser(program(code), timeout=5).parse_tokens([["a"], ["b"]])


def test_a_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-parser"):
        CommandParser("no-such-parser --fast").parse_tokens([["a"]])
    with pytest.raises(ValueError, match="command: expected a program, got nothing"):
        CommandParser(" ")
    with pytest.raises(ValueError, match=r"command = \"parse 'em\": No closing quotation"):
        CommandParser("parse 'em")


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan"), 1e9])
def test_a_time_that_cannot_be_waited_for_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0 seconds and at most a day"):
        CommandParser("cat", timeout=timeout)


def test_tokens_that_would_be_several_are_refused() -> None:
    with pytest.raises(ValueError, match="separator"):
        CommandParser(program(FLAT)).parse_tokens([["New York"]])


def test_the_command_line_runs_it() -> None:
    result = treeformer("parse", "--parser-command", program(FLAT), text="It rains. Go!\n")
    assert result.stdout == "(X (Y It) (Y rains) (Y .)) (X (Y Go) (Y !))\n"
