"""Lines of trees on disk: an interrupted run is resumed, and only with the same origin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from treeformer.parsing.corpus import TreeLine
from treeformer.parsing.failures import Failure, flat_tree
from treeformer.parsing.output import fingerprint, write_lines
from treeformer.trees import read_tree_lines, right_branching

ORIGIN = {"parser": "en", "tokenized": False}
TEXTS = ["first", "", "third", "fourth"]
BAD = {"first", "third"}


def parsed(done: int) -> Iterator[TreeLine]:
    for text in TEXTS[done:]:
        if text in BAD:
            yield TreeLine(str(flat_tree([text])), 1, [Failure(text, "it was bad")])
        elif text:
            yield TreeLine(str(right_branching([text])), 1, [])
        else:
            yield TreeLine("", 0, [])


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, str]:
    """The files of an uninterrupted run."""
    folder = tmp_path / "whole"
    folder.mkdir()
    assert write_lines(parsed, folder / "trees", ORIGIN) == 2
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
    asked = []

    def interrupted(done: int) -> Iterator[TreeLine]:
        yield from list(parsed(done))[:line]
        raise OSError("the lights went out")

    def rest(done: int) -> Iterator[TreeLine]:
        asked.append(done)
        return parsed(done)

    with pytest.raises(OSError, match="lights"):
        write_lines(interrupted, folder / "trees", ORIGIN)
    assert "trees" not in files(folder)
    with open(folder / "trees.partial", "a") as stream:
        stream.write(torn)
    with open(folder / "trees.report.partial", "a") as stream:  # written, but its line of trees was not
        stream.write(json.dumps({"line": line + 1, "sentence": "?", "reason": "?"}) + "\n" + torn)
    write_lines(rest, folder / "trees", ORIGIN)
    assert asked == [line]
    assert files(folder) == whole


def test_a_run_with_another_origin_does_not_resume(tmp_path: Path) -> None:
    def interrupted(done: int) -> Iterator[TreeLine]:
        yield from list(parsed(done))[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(interrupted, tmp_path / "trees", ORIGIN)
    before = files(tmp_path)
    with pytest.raises(ValueError, match=r"trees\.partial: begun with parser = 'en', now it is 'de'; delete"):
        write_lines(parsed, tmp_path / "trees", {**ORIGIN, "parser": "de"})
    assert files(tmp_path) == before


def test_a_run_that_fails_before_its_first_line_leaves_nothing(tmp_path: Path) -> None:
    def broken(done: int) -> Iterator[TreeLine]:
        raise ValueError("no such parser")

    with pytest.raises(ValueError, match="no such parser"):
        write_lines(broken, tmp_path / "trees", ORIGIN)
    assert files(tmp_path) == {}


def test_a_run_without_failures_leaves_no_report(tmp_path: Path) -> None:
    (tmp_path / "trees.report").write_text("of an earlier run\n")
    assert write_lines(lambda done: [TreeLine("", 0, [])], tmp_path / "trees", ORIGIN) == 0
    assert files(tmp_path) == {"trees": "\n"}


def test_a_fingerprint_depends_on_size_and_beginning(tmp_path: Path) -> None:
    path = tmp_path / "text"
    fingerprints = set()
    for content in ("one\n", "two\n", "one\none\n"):
        path.write_text(content)
        fingerprints.add(fingerprint(path))
    assert len(fingerprints) == 3
