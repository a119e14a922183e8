"""``treeformer prepare``: a folder of Arrow files, once; and one line where something is wrong."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import refusal, treeformer
from tests.data.corpora import sst_files
from treeformer.data.corpus import PreparedCorpus

RECIPE = Path(__file__).parents[2] / "recipes" / "sst5.yaml"
SPLITS = "data.task.splits={train: {file: train.txt, trees: train.phrases}}"


def prepare(data: Path, output: Path, *more: str) -> tuple[int, str, str]:
    run = treeformer(
        "prepare", str(RECIPE), "--data", str(data), "--output", str(output), "--set", SPLITS, *more
    )
    return run.returncode, run.stdout, run.stderr


def test_a_corpus_is_prepared_once(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "prepared" / "sst"
    status, text, log = prepare(data, output)
    assert (status, text) == (0, "")
    assert "train: 6 examples, 26 leaves, 21 nodes" in log
    assert len(PreparedCorpus.open(output)["train"]) == 6
    assert {path.name for path in output.iterdir()} == {
        "labels.json",
        "manifest.json",
        "tokenizer.json",
        "train.arrow",
    }
    assert prepare(data, output)[2] == f"{output}: up to date\n"
    status, _, log = prepare(data, output, "--set", "data.task.classes=2")
    assert status == 0
    assert "train: 5 examples" in log


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    for more, message in [
        (("--set", "data.dropp=true"), "data.dropp: no such key, did you mean drop?"),
        (("--set", "data"), "--set data: expected key=value"),
        (("--data", str(tmp_path / "none")), "no such folder"),
        (("--set", "data.task.splits.train.file=other.txt"), "expected a file other.txt there"),
    ]:
        arguments = ("prepare", RECIPE, "--data", data, "--output", output, "--set", SPLITS, *more)
        assert message in refusal(*arguments)
    (data / "train.txt").write_text("(2 (2 a)\n")
    status, _, errors = prepare(data, output)
    assert status == 1
    assert f"{data / 'train.txt'}:1:" in errors
    assert not output.exists()
