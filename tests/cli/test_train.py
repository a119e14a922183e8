"""``treeformer train`` as a command: what it refuses, in one line and before it writes anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import refusal
from tests.training.corpora import translation
from treeformer.cli.commands import app
from treeformer.data.corpus import PreparedCorpus


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return translation(tmp_path_factory.mktemp("translation") / "files")


def refused(corpus: PreparedCorpus, output: Path, *changes: str) -> str:
    """The message that training on this corpus ends with; nothing was written."""
    message = refusal(
        *("train", corpus.folder.parent / "recipe.yaml", "--data", corpus.folder),
        *("--output", output, "--device", "cpu"),
        *(argument for change in changes for argument in ("--set", change)),
    )
    assert not output.exists()
    return message


def test_a_system_that_cannot_do_the_task_is_refused_with_those_that_can(
    parallel: PreparedCorpus, tmp_path: Path
) -> None:
    line = refused(parallel, tmp_path / "run", "model=bilstm", "systems.bilstm.sizes.d_model=16")
    assert line.startswith("model: bilstm has no model for translation, expected one of ")
    able = line.rpartition("expected one of ")[2].split(", ")
    assert {"tree-transformer", "transformer"} <= set(able)
    assert "bilstm" not in able


def test_vectors_that_cannot_be_read_or_do_not_fit_are_refused(
    parallel: PreparedCorpus, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.txt"
    assert str(file) in refused(parallel, tmp_path / "run", f"vectors={file}")
    file.write_text("the 1 2 3\n")
    line = refused(parallel, tmp_path / "run", f"vectors={file}")
    assert line == (
        f"{file}: the vectors are 3 numbers wide, those of the model 16; "
        "expected systems.tree-transformer.sizes.d_model: 3"
    )


def test_settings_of_the_data_are_those_of_the_prepared_folder(tmp_path: Path) -> None:
    rows = "text,label\n" + 10 * "The plot is dull.,bad\nThe cast is fine.,good\n"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(rows)
    splits = "data.task.splits={train: {file: a.csv}, test: {file: b.csv}}"
    small = ("--set", "training.updates=2", "--set", "training.warm_up=0")
    prepared, run = tmp_path / "prepared", tmp_path / "run"
    arguments = ("prepare", "labelled", "--data", tmp_path, "--output", prepared)
    changes = ("--set", splits, "--set", "data.vocabulary.min_count=1")
    assert CliRunner().invoke(app, [*map(str, arguments), *changes]).exit_code == 0
    training = ("train", "labelled", "--data", prepared, "--output", run, "--device", "cpu", *small)
    message = refusal(*training, "--set", "data.vocabulary.min_count=3")
    assert "prepared for another recipe (data.vocabulary.min_count was 1, now 3)" in message
    assert not run.exists()
    result = CliRunner().invoke(app, [*map(str, training)])
    assert result.exit_code == 0, result.output
    assert (run / "model.safetensors").is_file()


def test_a_warm_up_longer_than_the_training_is_refused_with_advice(
    parallel: PreparedCorpus, tmp_path: Path
) -> None:
    line = refused(parallel, tmp_path / "run", "training.updates=50", "training.warm_up=500")
    assert line == (
        "training.warm_up: expected at most 50, the number of updates, got 500: the learning rate would not "
        "reach its height; set training.warm_up=0.1, a share of all updates"
    )
