"""``treeformer draw``."""

from __future__ import annotations

import xml.etree.ElementTree
from pathlib import Path

import pytest

from tests.cli.command import refusal, treeformer
from treeformer import Tree
from treeformer.trees import to_text

CAT = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"


def test_trees_from_arguments_and_from_standard_input_are_drawn_as_text() -> None:
    expected = to_text(Tree.from_brackets(CAT, unary="keep")) + "\n"
    assert treeformer("draw", CAT).stdout == expected
    assert treeformer("draw", text=f"{CAT}\n{CAT}\n").stdout == expected * 2
    collapsed = to_text(Tree.from_brackets(CAT)) + "\n"
    assert treeformer("draw", "--collapse", CAT).stdout == collapsed != expected


def test_one_tree_is_written_as_svg(tmp_path: Path) -> None:
    target = tmp_path / "tree.svg"
    assert treeformer("draw", "--svg", str(target), CAT).returncode == 0
    words = [element.text for element in xml.etree.ElementTree.parse(target).iter() if element.text]
    assert {"the", "cat", "sleeps", "NP"} <= set(words)
    assert treeformer("draw", "--svg", "-", CAT).stdout.strip() == target.read_text().strip()


def test_bad_input_ends_with_one_line_and_leaves_the_file_alone(tmp_path: Path) -> None:
    target = tmp_path / "tree.svg"
    target.write_text("before")
    for text, message in [
        ("(S (NP", "<stdin>:1:1: expected 2 more"),
        (f"{CAT} {CAT}", "--svg draws one tree, got 2"),
        ("", "got 0"),
    ]:
        result = treeformer("draw", "--svg", str(target), text=text)
        assert result.returncode == 1
        assert message in result.stderr
        assert result.stderr.startswith("treeformer: ")
        assert result.stderr.count("\n") == 1
        assert target.read_text() == "before"


def test_a_tree_of_the_command_line_is_called_as_the_help_calls_it() -> None:
    assert refusal("draw", "(S (NP").startswith("TREE:1:1: expected 2 more")


@pytest.mark.parametrize(("command", "usage"), [("draw", "[TREE]..."), ("classify", "[TEXT]...")])
def test_the_usage_names_arguments_that_can_be_left_out(command: str, usage: str) -> None:
    assert f" {command} [OPTIONS] {usage} " in treeformer(command, "--help").stdout


def test_without_a_command_the_commands_are_listed() -> None:
    assert "draw" in treeformer("--help").stdout
    assert treeformer("drew").returncode == 2
