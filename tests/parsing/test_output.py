"""Lines of trees on disk: an interrupted run is resumed, with the same text and origin only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from treeformer.parsing.corpus import TreeLine
from treeformer.parsing.failures import Failure, flat_tree
from treeformer.parsing.output import write_lines
from treeformer.storage import WorkFolder
from treeformer.trees import read_tree_lines, right_branching

ORIGIN = {"parser": "en", "tokenized": False}
TEXTS = ["first", "", "third", "fourth"]
BAD = {"first", "third"}


def parsed(lines: Iterator[str], done: int = 0) -> Iterator[TreeLine]:
    for text in lines:
        if text in BAD:
            yield TreeLine(str(flat_tree([text])), 1, [Failure(text, "it was bad")])
        elif text:
            yield TreeLine(str(right_branching([text])), 1, [])
        else:
            yield TreeLine("", 0, [])


def interrupted(lines: Iterator[str], count: int) -> Iterator[TreeLine]:
    """Parsed lines up to a count, then an interruption; all lines were read before, as workers do."""
    yield from islice(parsed(iter(list(lines))), count)
    raise KeyboardInterrupt


def begin(output: Path, count: int = 2) -> Path:
    """Begin to write an output, interrupted after some lines; returns the folder of the unfinished run."""
    with pytest.raises(KeyboardInterrupt):
        write_lines(TEXTS, lambda lines, done: interrupted(lines, count), output, ORIGIN)
    assert not output.exists()
    return WorkFolder(output).path


def files(folder: Path) -> dict[str, str]:
    """The content of all files under a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, str]:
    """The files of an uninterrupted run."""
    folder = tmp_path / "whole"
    folder.mkdir()
    assert write_lines(TEXTS, parsed, folder / "trees", ORIGIN) == 2
    return files(folder)


def test_trees_and_a_report_of_those_that_are_flat(whole: dict[str, str], tmp_path: Path) -> None:
    words = [[tree.words for tree in trees] for trees in read_tree_lines(tmp_path / "whole" / "trees")]
    assert words == [[(text,)] if text else [] for text in TEXTS]
    assert [json.loads(line) for line in whole["trees.report"].splitlines()] == [
        {"line": 1, "sentence": "first", "reason": "it was bad"},
        {"line": 3, "sentence": "third", "reason": "it was bad"},
    ]
    assert whole.keys() == {"trees", "trees.report"}


@pytest.mark.parametrize("line", range(len(TEXTS) + 1))
@pytest.mark.parametrize("torn", ["", "(ROOT (FRAG (X th"])
def test_an_interruption_changes_nothing(line: int, torn: str, whole: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    numbers = []

    def rest(lines: Iterator[str], done: int) -> Iterator[TreeLine]:
        numbers.append(done)
        return parsed(lines)

    work = begin(folder / "trees", line)
    if line:
        with open(work / "trees", "a") as stream:
            stream.write(torn)
        with open(work / "report", "a") as stream:  # written, but its line of trees was not
            stream.write(json.dumps({"line": line + 1, "sentence": "?", "reason": "?"}) + "\n" + torn)
        with open(work / "text", "a") as stream:
            stream.write("0" * 32 + "\n" + torn)
    write_lines(TEXTS, rest, folder / "trees", ORIGIN)
    assert numbers == [line]
    assert files(folder) == whole


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["first", "", "THIRD"], "line 3 of the text differs"),
        (["first"], "the text has only 1 lines"),
        (["first", "third", ""], "line 2 of the text differs"),
    ],
)
def test_another_text_does_not_resume(texts: list[str], problem: str, tmp_path: Path) -> None:
    begin(tmp_path / "trees", 3)
    before = files(tmp_path)
    with pytest.raises(ValueError, match=rf"trees: begun with another text: {problem}; give the same text"):
        write_lines(texts, parsed, tmp_path / "trees", ORIGIN)
    assert files(tmp_path) == before


def test_lines_that_were_only_read_may_differ(tmp_path: Path) -> None:
    begin(tmp_path / "trees", 2)
    write_lines(["first", "", "other"], parsed, tmp_path / "trees", ORIGIN)
    assert [len(trees) for trees in read_tree_lines(tmp_path / "trees")] == [1, 0, 1]


def test_a_run_with_another_origin_does_not_resume(tmp_path: Path) -> None:
    begin(tmp_path / "trees")
    before = files(tmp_path)
    with pytest.raises(ValueError, match=r"trees: begun with parser = 'en', now it is 'de'; delete"):
        write_lines(TEXTS, parsed, tmp_path / "trees", {**ORIGIN, "parser": "de"})
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["origin.json", "text"])
def test_a_run_without_its_record_does_not_resume(name: str, tmp_path: Path) -> None:
    work = begin(tmp_path / "trees")
    (work / name).unlink()
    with pytest.raises(ValueError, match=rf"{name}: missing, so the run cannot be resumed; delete"):
        write_lines(TEXTS, parsed, tmp_path / "trees", ORIGIN)


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_a_damaged_record_is_named(content: str, tmp_path: Path) -> None:
    work = begin(tmp_path / "trees")
    (work / "origin.json").write_text(content)
    with pytest.raises(ValueError, match=r"origin\.json: damaged; delete"):
        write_lines(TEXTS, parsed, tmp_path / "trees", ORIGIN)


def test_a_run_that_fails_before_its_first_line_leaves_nothing(tmp_path: Path) -> None:
    def broken(lines: Iterator[str], done: int) -> Iterator[TreeLine]:
        raise ValueError("no such parser")

    with pytest.raises(ValueError, match="no such parser"):
        write_lines(TEXTS, broken, tmp_path / "trees", ORIGIN)
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_failures_removes_the_report_of_an_earlier_one(tmp_path: Path) -> None:
    assert write_lines(TEXTS, parsed, tmp_path / "trees", ORIGIN) == 2
    assert write_lines([""], parsed, tmp_path / "trees", ORIGIN) == 0
    assert files(tmp_path) == {"trees": "\n"}


@pytest.mark.parametrize("content", ["my notes\n", "", '{"line": 1}\n', "[" * 100_000 + "\n", "1\n"])
def test_a_report_of_others_is_refused_before_parsing(content: str, tmp_path: Path) -> None:
    (tmp_path / "trees.report").write_text(content)
    with pytest.raises(ValueError, match=r"trees\.report: not written by treeformer; move it away"):
        write_lines(TEXTS, lambda lines, done: pytest.fail("parsed"), tmp_path / "trees", ORIGIN)
    assert files(tmp_path) == {"trees.report": content}


def test_a_report_that_others_wrote_meanwhile_is_left_and_the_trees_are_kept(tmp_path: Path) -> None:
    report = tmp_path / "trees.report"

    def slow(lines: Iterator[str], done: int) -> Iterator[TreeLine]:
        yield from parsed(lines)
        report.write_text("my notes\n")

    with pytest.raises(ValueError, match="not written by treeformer"):
        write_lines(TEXTS, slow, tmp_path / "trees", ORIGIN)
    assert report.read_text() == "my notes\n"
    report.unlink()
    numbers = []

    def nothing_left(lines: Iterator[str], done: int) -> Iterator[TreeLine]:
        numbers.append(done)
        return parsed(lines)

    assert write_lines(TEXTS, nothing_left, tmp_path / "trees", ORIGIN) == 2
    assert numbers == [len(TEXTS)]


def test_a_run_killed_between_report_and_trees_keeps_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, str]
) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()

    def stopped(source: Path, target: Path) -> None:
        if target.name == "trees":
            raise KeyboardInterrupt
        os.rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("treeformer.parsing.output.os.replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            write_lines(TEXTS, parsed, folder / "trees", ORIGIN)
    write_lines(TEXTS, parsed, folder / "trees", ORIGIN)
    assert files(folder) == whole
