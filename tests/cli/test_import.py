"""``treeformer --import MODULE``: parsers, systems and tasks of one's own on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import treeformer

PARSER = """
from treeformer.parsing import Parser, register_parser
from treeformer.trees import left_branching

class Left(Parser):
    language, name = "en", "left 1"

    def parse_tokens(self, sentences):
        return [left_branching(words) for words in sentences]

register_parser("left", Left)
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_parser_of_ones_own_parses_in_all_processes(
    workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_parser.py").write_text(PARSER)
    arguments = ["--import", "own_parser", "parse", "--parser", "left", "--workers", workers]
    result = treeformer(*arguments, text="The cat sleeps.\n")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "(X (X (X (X The) (X cat)) (X sleeps)) (X .))\n"


def test_a_module_that_is_not_there_is_named_in_one_line() -> None:
    result = treeformer("--import", "no_such_module", "draw", "(S (A a))")
    assert result.returncode == 1
    assert result.stderr == "treeformer: No module named 'no_such_module'\n"
