"""``treeformer train`` as a command: what it refuses, in one line and before it writes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import refusal
from tests.training.corpora import translation
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
