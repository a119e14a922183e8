"""``treeformer parse`` and ``treeformer parser train``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import treeformer
from treeformer.trees import read_tree_lines


def test_lines_of_text_become_lines_of_trees(tmp_path: Path) -> None:
    result = treeformer("parse", text="It rains. We stay.\n\nGo!\n")
    first, second, third = result.stdout.splitlines()
    assert first == (
        "(ROOT (S (NP (PRP It)) (VP (VBZ rains)) (. .))) (ROOT (S (NP (PRP We)) (VP (VBP stay)) (. .)))"
    )
    assert second == ""
    assert third.startswith("(ROOT ")
    assert "3 lines, 3 sentences" in result.stderr
    output = tmp_path / "trees"
    treeformer(
        "parse", "--tokenized", "--one-per-line", "--output", str(output), text="It rains . We stay .\n"
    )
    ((tree,),) = read_tree_lines(output)
    assert tree.words == ("It", "rains", ".", "We", "stay", ".")


def test_bad_input_ends_with_one_line(tmp_path: Path) -> None:
    latin = tmp_path / "latin"
    latin.write_bytes(b"fine\nna\xefve\n")
    for arguments, message in [
        (("parse", str(tmp_path / "missing")), "missing"),
        (("parse", str(latin)), "latin:2:3: expected UTF-8, found the byte 0xef"),
        (("parse", "--language", "klingon"), "got 'klingon'"),
    ]:
        result = treeformer(*arguments)
        assert result.returncode == 1
        assert message in result.stderr
        assert "Traceback" not in result.stderr


def test_a_parser_is_trained_from_a_recipe_and_used_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "cats.trees").write_text(
        "(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))))\n"
        "(ROOT (S (NP (DT a) (NN dog)) (VP (VBZ barks))))\n" * 50
    )
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "{name: tiny, language: en, trees: [{file: cats.trees, licence: ours}],"
        " network: {width: 32, layers: 1, inner: 32, span_width: 16, buckets: 50},"
        " learning: {updates: 60, batch_words: 200, rare: 1, averaging: 0.9, learning_rate: 0.01}}"
    )
    folder = tmp_path / "parser"
    trained = treeformer("parser", "train", str(recipe), "--data", str(tmp_path), "--output", str(folder))
    assert trained.returncode == 0, trained.stderr
    assert "update 60: loss of brackets" in trained.stderr
    parsed = treeformer("parse", "--parser", str(folder), text="the dog sleeps\n")
    assert parsed.stdout == "(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ sleeps))))\n"
    other = treeformer("parse", "--parser", str(folder), "--language", "de", text="der Hund\n")
    assert other.returncode == 1
    assert "which has a language of its own" in other.stderr
    recipe.write_text(
        "{name: tiny, language: en, trees: [{file: cats.trees, licence: ours}], lerning: {updates: 1}}"
    )
    wrong = treeformer("parser", "train", str(recipe), "--data", str(tmp_path), "--output", str(folder))
    assert wrong.returncode == 1
    assert "lerning: no such key, did you mean learning?" in wrong.stderr


def test_a_file_of_code_is_one_text() -> None:
    parsed = treeformer("parse", "--parser", "code:python", text="def f(x):\n    return x\n\nclass = 1\n")
    assert parsed.returncode == 0
    assert parsed.stdout.count("\n") == 1
    assert "(return_statement (keyword return) (identifier x))" in parsed.stdout
    assert "texts with wrong syntax: 1" in parsed.stderr
