"""Ray gives the lines that one process gives."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from tests.parsing.programs import flat_but, program
from treeformer.parsing.command import CommandParser
from treeformer.parsing.corpus import CHUNK_LINES, parse_lines
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.ray_engine import parse_lines_with_ray

if not os.environ.get("CI"):
    pytest.importorskip("ray")

LINES = [f"Word {number}. Another (one)!" if number % 7 else "" for number in range(3 * CHUNK_LINES + 5)]


def test_the_same_lines_in_the_same_order_with_the_same_failures() -> None:
    parser = partial(CommandParser, flat_but("300", "sys.exit('three hundred')"))
    line_parser = LineParser(parser)
    here = list(parse_lines(LINES, line_parser))
    there = list(parse_lines_with_ray(LINES, line_parser, workers=2))
    assert there == here
    assert [len(line.failures) for line in there] == [number == 300 for number in range(len(LINES))]


def test_an_error_of_a_worker_is_raised() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-parser"):
        list(parse_lines_with_ray(LINES, LineParser(partial(CommandParser, "no-such-parser"))))


def test_an_interrupted_command_resumes(tmp_path: Path) -> None:
    texts, output, broken = tmp_path / "texts", tmp_path / "trees", tmp_path / "broken"
    texts.write_text("".join(f"The cat number {number} sleeps.\n" for number in range(CHUNK_LINES + 9)))
    whole = treeformer("parse", str(texts))
    arguments = ("parse", str(texts), "--output", str(output))
    assert treeformer(*arguments, largest_file=5000).returncode == 1
    result = treeformer(*arguments, "--engine", "ray", "--workers", "2")
    assert result.returncode == 0, result.stderr
    assert output.read_text() == whole.stdout
    assert "lines of an earlier run" in result.stderr
    arguments = ("--engine", "ray", "--parser-command", program("sys.exit('out of order')"))
    result = treeformer("parse", str(texts), "--output", str(broken), *arguments)
    assert result.returncode == 1
    assert result.stderr.endswith("ended with status 1: out of order\n")
    assert "Traceback" not in result.stderr


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[ray\]'"):
        next(parse_lines_with_ray(["It rains."], LineParser(partial(CommandParser, "cat"))))
