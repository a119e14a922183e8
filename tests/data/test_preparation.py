"""Preparing: once for the same inputs, again for others, whole or not at all, and bad lines by name."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from tests.data import corpora
from tests.data.corpora import (
    prepared,
    recipe,
    sst_files,
    sst_task,
    translation_files,
    translation_task,
    write,
)
from treeformer.data import preparation
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.recipe import DataRecipe
from treeformer.data.split import SplitWriter
from treeformer.progress import Progress


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Log(Progress):
    """Keeps the lines that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


def logged(recipe_: DataRecipe, data: Path, output: Path) -> list[str]:
    """The lines that `prepare` logs."""
    log = Log()
    prepare(recipe_, data, output, progress=log)
    return log.lines


def test_a_second_run_does_nothing(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    prepared(recipe(sst_task()), data, output)
    before = {path: path.stat().st_mtime_ns for path in output.iterdir()}
    assert logged(recipe(sst_task()), data, output) == [f"{output}: up to date"]
    assert {path: path.stat().st_mtime_ns for path in output.iterdir()} == before


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    data = translation_files(tmp_path / "data")
    made = recipe(translation_task(), vocabulary={"kind": "bpe", "size": 80})
    prepared(made, data, tmp_path / "one")
    prepared(made, data, tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_changed_files_and_settings_are_noticed(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    assert len(prepared(recipe(sst_task()), data, output)["train"]) == 6
    write(
        data,
        train__txt=corpora.SENTIMENTS.splitlines()[:5],
        train__phrases=corpora.PHRASES.splitlines()[:5],
    )
    assert len(prepared(recipe(sst_task()), data, output)["train"]) == 5
    assert len(prepared(recipe(sst_task(classes=2)), data, output)["train"]) == 4
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["data", "out"]


def test_a_run_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    prepared(recipe(sst_task()), data, output)
    before = content(output)
    write(data, train__txt=corpora.SENTIMENTS + "(2 (2 no\n", train__phrases=corpora.PHRASES + "(X no)\n")
    with pytest.raises(ValueError, match=r"train\.txt:7:"):
        prepared(recipe(sst_task()), data, output)
    assert content(output) == before


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), write(tmp_path / "out", diary__txt="mine")
    with pytest.raises(ValueError, match="out: contains other files; expected a prepared corpus"):
        prepared(recipe(sst_task()), data, output)
    assert content(output) == {"diary.txt": b"mine"}


def test_what_was_parsed_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    (data / "train.phrases").unlink()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(SplitWriter, "write", fail)
        with pytest.raises(OSError, match="no space left"):
            prepared(recipe(sst_task()), data, output)
    assert not output.exists()
    lines = logged(recipe(sst_task()), data, output)
    assert not any("parsing" in line for line in lines)
    assert PreparedCorpus.open(output).manifest.parser != preparation.READY


def test_files_are_found_compressed_and_by_name_alone(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    compressed = tmp_path / "compressed"
    compressed.mkdir()
    for path in data.iterdir():
        (compressed / f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
    task = {"name": "sst", "splits": {"train": {"file": "sst/train.txt", "trees": "trees/train.phrases.gz"}}}
    one = prepared(recipe(task), data, tmp_path / "one")
    two = prepared(recipe(task), compressed, tmp_path / "two")
    assert (one.folder / "train.arrow").read_bytes() == (two.folder / "train.arrow").read_bytes()
    shutil.rmtree(compressed)
    with pytest.raises(ValueError, match=r"expected a file sst/train\.txt there"):
        prepared(recipe(task), tmp_path, tmp_path / "three")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"train__de": corpora.GERMAN[:2]},
            r"train\.en:3: expected a line for each in .*train\.de",
        ),
        ({"train__trees": corpora.ENGLISH_TREES + "(X x)\n"}, r"train\.trees:4: .*train\.en, which ends"),
    ],
)
def test_sides_of_different_length_are_refused_by_name(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    data = write(translation_files(tmp_path / "data"), **files)
    with pytest.raises(ValueError, match=message):
        prepared(recipe(translation_task()), data, tmp_path / "out")
    corpus = prepared(recipe(translation_task(), drop=True), data, tmp_path / "out")
    assert corpus.manifest.splits["train"].dropped == {"without a counterpart": 1}


@pytest.mark.parametrize(
    ("files", "place", "reason"),
    [
        ({"train__de": [corpora.GERMAN[0], "", corpora.GERMAN[2]]}, r"train\.de:2: ", "empty target"),
        ({"train__en": [corpora.ENGLISH[0], "", corpora.ENGLISH[2]]}, r"train\.en:2: ", "empty source"),
        (
            {"train__trees": corpora.ENGLISH_TREES.replace("(CD Two)", "(CD Two")},
            r"train\.trees:2:",
            "unreadable tree",
        ),
        ({"train__trees": "\n".join(["(X a)", "", "(X b)", ""])}, r"train\.trees:2: ", "no tree"),
    ],
)
def test_a_bad_line_is_named_or_on_request_left_out_and_counted(
    tmp_path: Path, files: dict[str, str], place: str, reason: str
) -> None:
    data = write(translation_files(tmp_path / "data"), **files)
    with pytest.raises(ValueError, match=place):
        prepared(recipe(translation_task()), data, tmp_path / "out")
    corpus = prepared(recipe(translation_task(), drop=True), data, tmp_path / "out")
    assert len(corpus["train"]) == 2
    assert corpus.manifest.splits["train"].dropped == {reason: 1}


def test_long_examples_are_left_out_of_train_only(tmp_path: Path) -> None:
    data = translation_files(tmp_path / "data")
    corpus = prepared(recipe(translation_task(), longest=5), data, tmp_path / "out")
    assert len(corpus["train"]) == 2
    assert corpus.manifest.splits["train"].dropped == {"longer than 5": 1}
    assert len(corpus["test"]) == 3


def test_the_manifest_says_what_there_is(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    manifest = prepared(recipe(sst_task()), data, tmp_path / "out").manifest
    assert set(manifest.sources) == {"train.txt", "train.phrases"}
    assert manifest.kind == "classification"
    assert manifest.parser == preparation.READY
    counts = manifest.splits["train"]
    assert (counts.examples, counts.leaves, counts.nodes, counts.longest) == (6, 26, 21, (6, 5, 0))
    with pytest.raises(ValueError, match="split: expected one of train, got 'dev'"):
        PreparedCorpus.open(tmp_path / "out")["dev"]
    with pytest.raises(ValueError, match="not a prepared corpus"):
        PreparedCorpus.open(tmp_path)
