"""``treeformer score``."""

from __future__ import annotations

import json
import lzma
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import treeformer

A, B = "(S (NN a))", "(S (NN b))"
GOLD = """\
(ROOT (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))
( (NP (NN work) (. .)))
(ROOT (FRAG (. .)))
"""
PREDICTED = """\
(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PRT (RP well))) (. .)))
(ROOT (NP (NN work) (NN .)))
(ROOT (NP (. .)))
"""


def score(folder: Path, gold: str, predicted: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``treeformer score`` on two files."""
    (folder / "gold").write_text(gold, "utf-8")
    (folder / "predicted").write_text(predicted, "utf-8")
    return treeformer("score", str(folder / "gold"), str(folder / "predicted"), *options)


def rows(output: str) -> dict[str, list[str]]:
    """Cells by the first column, which ends at two spaces."""
    lines = [line.strip().split("  ") for line in output.splitlines() if line.strip()]
    return {first: [cell.strip() for cell in rest if cell] for first, *rest in lines}


def test_the_table_shows_scores_and_what_they_were_counted_over(tmp_path: Path) -> None:
    result = score(tmp_path, GOLD, PREDICTED)
    assert result.returncode == 0
    assert (
        rows(result.stdout).items()
        >= {
            "sentences": ["3", "3"],
            "errors": ["1", "1"],
            "skipped": ["1", "1"],
            "scored": ["1", "1"],
            "F1": ["100.00", "100.00"],
            "complete match": ["100.00", "100.00"],
            "exact match": ["0.00", "0.00"],
            "tag accuracy": ["75.00", "75.00"],
        }.items()
    )
    assert "EVALB" in result.stdout


def test_scores_are_split_by_length_and_by_label(tmp_path: Path) -> None:
    long = f"(ROOT (NP {'(NN a) ' * 45}))\n"
    result = score(tmp_path, GOLD + long, PREDICTED + long, "--by", "length", "--by", "label")
    table = rows(result.stdout)
    assert table["1-10"][:3] == ["3", "1", "100.00"]
    assert table["41-50"][:3] == ["1", "1", "100.00"]
    assert table["ADVP/PRT"] == table["S"] == ["1", "1", "1", "100.00", "100.00", "100.00"]
    assert table["NP"][:3] == ["2", "2", "2"]


def test_json_holds_everything_in_one_object(tmp_path: Path) -> None:
    result = score(tmp_path, GOLD, PREDICTED, "--json")
    scores = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert scores["all"] == scores["at_most_40"]
    assert scores["all"]["f1"] == 100
    assert scores["all"]["errors"] == scores["all"]["skipped"] == scores["all"]["valid"] == 1
    assert scores["by_length"] == [{"from": 1, "to": 10, **scores["all"]}]
    assert scores["by_label"]["NP"] == {
        "matched": 1, "gold": 1, "predicted": 1, "precision": 100, "recall": 100, "f1": 100
    }  # fmt: skip


def test_files_may_be_compressed_and_one_may_be_standard_input(tmp_path: Path) -> None:
    expected = score(tmp_path, GOLD, PREDICTED).stdout
    packed = tmp_path / "gold.xz"
    packed.write_bytes(lzma.compress(GOLD.encode()))
    predicted = str(tmp_path / "predicted")
    assert treeformer("score", str(packed), predicted).stdout == expected
    assert treeformer("score", "-", predicted, text=GOLD).stdout == expected
    assert treeformer("score", predicted, predicted).stdout != expected


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (f"{A}\n{B}\n", f"{A}\n", "predicted:2: expected one tree as in {}/gold, found the end of the file"),
        (
            f"{A}\n",
            f"{A}\n\n{B}\n",
            "predicted:3: expected the end of the file as in {}/gold, found one tree",
        ),
        ("\n", f"{A}\n", "predicted:1: expected no tree as in {}/gold, found one tree"),
        (f"{A} {B}\n", f"{A}\n", "predicted:1: expected 2 trees as in {}/gold, found one tree"),
        (
            f"{A}\n{B}\n",
            f"{A}\n{A}\n",
            "predicted:2: expected word 1 to be 'b' as in the gold tree, found 'a'",
        ),
        (f"{A}\n{B[:-1]}\n", f"{A}\n{B}\n", "gold:2:1: expected 1 more ')'"),
        (f"{A}\n", f"{A[1:]}\n", "predicted:1:1: expected '('"),
    ],
)
def test_bad_input_ends_with_one_line_that_names_the_place(
    tmp_path: Path, gold: str, predicted: str, message: str
) -> None:
    result = score(tmp_path, gold, predicted)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"treeformer: {tmp_path}/")
    assert message.format(tmp_path) in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_missing_file_and_two_standard_inputs_are_refused(tmp_path: Path) -> None:
    missing = treeformer("score", str(tmp_path / "none"), str(tmp_path / "none"))
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert "No such file" in missing.stderr
    both = treeformer("score", "-", "-")
    assert (both.returncode, both.stderr) == (
        1,
        "treeformer: GOLD and PREDICTED are both -: expected a file for at least one\n",
    )


def test_a_line_without_a_parse_is_skipped_and_counted(tmp_path: Path) -> None:
    result = score(tmp_path, f"{A}\n{B}\n{A} {B}\n\n", f"{A}\n(())\n\n\n")
    assert (result.returncode, result.stderr) == (0, "")
    table = rows(result.stdout)
    assert table["sentences"] == ["4", "4"]
    assert table["skipped"][0] == "3"
    assert table["scored"] == ["1", "1"]
    assert table["F1"] == ["100.00", "100.00"]
