"""Prepared corpora: one writer at a time, nothing of the user removed, damage found when files are opened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.data.corpora import (
    prepared,
    recipe,
    sst_files,
    sst_task,
    translation_files,
    translation_task,
    write,
)
from treeformer.data.corpus import FORMAT, PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.sample import aligned_lines
from treeformer.data.split import Split
from treeformer.data.vocabulary import WordVocabulary, load_vocabulary
from treeformer.progress import Progress
from treeformer.storage import WorkFolder

TEXTS = [{"text": "A fine film.", "label": "good"}, {"text": "A dull film.", "label": "bad"}] * 20
TASK = {"name": "labelled", "splits": {"train": {"file": "train.jsonl"}}}
# Prepares a corpus and stops for ever at the second parsed line, or before the new folder gets its name.
STOPS = """
import json, sys, time
from pathlib import Path
from treeformer.data import preparation
from treeformer.data.recipe import DataRecipe
from treeformer.progress import Progress

def stop(*_, **__):
    print("stopped", flush=True)
    time.sleep(60)

class Stops(Progress):
    def update(self, done, total, text=""):
        if done == 2:
            stop()

recipe, data, output, where = sys.argv[1:]
if where == "moving":
    preparation.move_folder = stop
progress = Stops() if where == "parsing" else Progress()
preparation.prepare(DataRecipe.model_validate_json(recipe), Path(data), Path(output), progress=progress)
"""


def stopped_process(task: dict[str, object], data: Path, output: Path, where: str) -> subprocess.Popen[str]:
    """A process that prepares a corpus and has stopped in the middle."""
    command = [sys.executable, "-c", STOPS, recipe(task).model_dump_json(), str(data), str(output), where]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "stopped\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_second_process_is_refused_and_a_killed_one_is_resumed(tmp_path: Path) -> None:
    data, output = write(tmp_path / "data", train__jsonl=[dict(row) for row in TEXTS]), tmp_path / "out"
    process = stopped_process(TASK, data, output, "parsing")
    try:
        with pytest.raises(BlockingIOError, match=rf"out: being written by another process .*{process.pid}"):
            prepared(recipe(TASK), data, output)
    finally:
        kill(process)
    assert names(tmp_path) == {"data", ".out.treeformer"}
    corpus = prepared(recipe(TASK), data, output)
    assert names(tmp_path) == {"data", "out"}
    whole = prepared(recipe(TASK), data, tmp_path / "whole")
    for name in corpus.manifest.files:
        assert (output / name).read_bytes() == (whole.folder / name).read_bytes()


def test_a_corpus_that_was_being_replaced_when_the_process_was_killed_is_kept(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    prepared(recipe(sst_task()), data, output)
    kill(stopped_process(sst_task(classes=2), data, output, "moving"))
    assert PreparedCorpus.open(output).manifest.recipe["task"]["classes"] == 5
    work = WorkFolder(output).path
    os.rename(output, work / "replaced")  # as if the process had been killed between its two renames
    (data / "train.txt").write_text("(2 no\n")
    with pytest.raises(ValueError, match=r"train\.txt:1"):
        prepared(recipe(sst_task(classes=2)), data, output)
    assert len(PreparedCorpus.open(output)["train"]) == 6
    sst_files(data)
    assert len(prepared(recipe(sst_task(classes=2)), data, output)["train"]) == 5
    assert names(tmp_path) == {"data", "out"}


def test_files_of_the_user_are_left_alone(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    for name in ("out.old", "out.unfinished", ".out.old"):
        write(tmp_path / name, diary__txt="mine")
    prepared(recipe(sst_task()), data, output)
    prepared(recipe(sst_task(classes=2)), data, output)
    write(output, notes__txt="mine")
    with pytest.raises(ValueError, match=r"out/notes\.txt: not written by treeformer prepare"):
        prepared(recipe(sst_task()), data, output)
    assert len(prepared(recipe(sst_task(classes=2)), data, output)["train"]) == 5  # it is up to date
    for name in ("out.old/diary.txt", "out.unfinished/diary.txt", ".out.old/diary.txt", "out/notes.txt"):
        assert (tmp_path / name).read_text() == "mine"
    assert names(tmp_path) == {"data", "out", "out.old", "out.unfinished", ".out.old"}


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    data, disk, output = sst_files(tmp_path / "data"), tmp_path / "disk" / "sst", tmp_path / "out"
    disk.mkdir(parents=True)
    output.symlink_to(disk)
    for classes, count in ((5, 6), (2, 5)):
        prepared(recipe(sst_task(classes=classes)), data, output)
        assert output.is_symlink()
        assert len(PreparedCorpus.open(output)["train"]) == count
    assert names(disk.parent) == {"sst"}


def use(corpus: PreparedCorpus) -> None:
    """Read everything that training reads."""
    assert corpus.processor
    for split in corpus.manifest.splits:
        assert len(corpus[split])


def flipped(path: Path, bit: int) -> bytes:
    """The content before a bit of the file is flipped."""
    content = path.read_bytes()
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(changed)
    return content


@pytest.mark.parametrize("name", ["train.arrow", "test.arrow", "tokenizer.json", "labels.json"])
def test_every_flipped_bit_is_noticed(tmp_path: Path, name: str) -> None:
    data, output = translation_files(tmp_path / "data"), tmp_path / "out"
    use(prepared(recipe(translation_task()), data, output))
    path = output / name
    for bit in range(0, 8 * path.stat().st_size, 997):
        content = flipped(path, bit)
        os.utime(path, ns=(bit, bit))
        with pytest.raises(ValueError, match=rf"{name}: damaged or changed"):
            use(PreparedCorpus.open(output))
        path.write_bytes(content)
        os.utime(path, ns=(bit + 1, bit + 1))
    use(PreparedCorpus.open(output))


def test_a_damaged_corpus_is_prepared_again(tmp_path: Path) -> None:
    data, output = sst_files(tmp_path / "data"), tmp_path / "out"
    prepared(recipe(sst_task()), data, output)
    for damage in (lambda path: flipped(path, 999), Path.unlink):
        damage(output / "train.arrow")
        with pytest.raises(ValueError, match=r"train\.arrow: (damaged|missing)"):
            use(PreparedCorpus.open(output))
        use(prepared(recipe(sst_task()), data, output))


def test_a_corpus_without_checksums_is_checked_as_well_as_possible(tmp_path: Path) -> None:
    """Format 1, of version 0.1.0: a damaged file is refused by name or read; it is never a traceback."""
    data, output = translation_files(tmp_path / "data"), tmp_path / "out"
    prepared(recipe(translation_task()), data, output)
    changed_manifest(output, lambda manifest: [manifest.pop(key) for key in ("format", "checksums")])
    use(PreparedCorpus.open(output))
    for name in ("train.arrow", "tokenizer.json", "labels.json"):
        path = output / name
        for bit in range(0, 8 * path.stat().st_size, 499):
            content = flipped(path, bit)
            try:
                corpus = PreparedCorpus.open(output)
                use(corpus)
                corpus["train"].texts("target_text")
            except ValueError as error:
                assert str(output) in str(error)  # noqa: PT017
                assert "\n" not in str(error)  # noqa: PT017
            path.write_bytes(content)


def test_a_split_that_is_only_in_a_manifest_without_checksums_is_missing(tmp_path: Path) -> None:
    output = prepared(recipe(sst_task()), sst_files(tmp_path / "data"), tmp_path / "out").folder
    changed_manifest(output, lambda manifest: [manifest.pop(key) for key in ("format", "checksums")])
    (output / "train.arrow").unlink()
    with pytest.raises(ValueError, match=r"out.train\.arrow: missing, but listed in manifest\.json$"):
        use(PreparedCorpus.open(output))


def test_labels_of_a_corpus_without_checksums_begin_with_the_special_ones(tmp_path: Path) -> None:
    output = prepared(recipe(sst_task()), sst_files(tmp_path / "data"), tmp_path / "out").folder
    changed_manifest(output, lambda manifest: [manifest.pop(key) for key in ("format", "checksums")])
    labels = json.loads((output / "labels.json").read_text())
    (output / "labels.json").write_text(json.dumps({**labels, "nodes": ["<unk>", *labels["nodes"][2:], "X"]}))
    with pytest.raises(ValueError, match=r"labels\.json: nodes: expected <unk> and DOC first") as raised:
        use(PreparedCorpus.open(output))
    assert "\n" not in str(raised.value)


def changed_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest.pop("digest")
    path.write_text(json.dumps(manifest))


def test_a_changed_letter_in_a_manifest_is_found_there(tmp_path: Path) -> None:
    output = prepared(recipe(sst_task()), sst_files(tmp_path / "data"), tmp_path / "out").folder
    path = output / "manifest.json"
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        if content[place : place + 1].isspace():  # damaged JSON, or the same value
            continue
        with pytest.raises(ValueError, match=r"out.manifest\.json: "):
            PreparedCorpus.open(output)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": FORMAT + 1, "new": 1}, "written by a newer version of treeformer .*update treeformer"),
        ({"format": "two"}, "format: input should be a valid integer"),
        ({"checksums": {}}, "checksums: expected one of each file"),
        ({"splits": []}, "splits: input should be a valid dictionary"),
        ({"recipe": 3}, "recipe: input should be a valid dictionary"),
        ({"recipe": {"task": []}}, "recipe: task: expected a name out of"),
        ({"vocab_size": 1}, "do not belong together"),
        ({"kind": "translation"}, "kind: expected classification"),
    ],
)
def test_a_manifest_of_another_shape_is_refused_by_key(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    output = prepared(recipe(sst_task()), sst_files(tmp_path / "data"), tmp_path / "out").folder
    changed_manifest(output, lambda manifest: manifest.update(change))
    with pytest.raises(ValueError, match=rf"out.*{message}") as raised:
        PreparedCorpus.open(output).check()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": pa.array([1], pa.int32())}, "no column input_ids"),
        (
            {"input_ids": pa.array([1], pa.int32())},
            r"column input_ids: expected list<item: int32>, found int32",
        ),
        ({"node_ids": pa.array([None], pa.list_(pa.int32()))}, "column node_ids: 1 values are missing"),
    ],
)
def test_an_arrow_file_of_another_shape_is_refused_by_column(
    tmp_path: Path, columns: dict[str, pa.Array], message: str
) -> None:
    path = tmp_path / "train.arrow"
    lists = {name: pa.array([[1]], pa.list_(pa.int32())) for name in ("input_ids", "node_ids", "node_spans")}
    batch = pa.RecordBatch.from_pydict(columns if "label" in columns else {**lists, **columns})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match=rf"train\.arrow: not a prepared split: {message}"):
        Split(path)


def test_an_arrow_file_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.arrow"
    names = ["input_ids", "node_ids", "node_spans", "node_targets", "node_targets"]
    values = pa.array([[1]], pa.list_(pa.int32()))
    batch = pa.RecordBatch.from_arrays([values] * len(names), names=names)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match=r"train\.arrow: .*: column node_targets: expected one, found 2$"):
        Split(path)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, full_disk: Path) -> None:
    data, output = sst_files(tmp_path / "data"), full_disk / "out"
    vocabulary = WordVocabulary.learn({f"word{number}": 1 for number in range(9000)}, min_count=1)
    with pytest.raises(OSError, match=r"tokenizer\.json: could not be written \(No space left on device\)"):
        vocabulary.save(full_disk)
    assert names(full_disk) == set()
    room = full_disk / "ballast"
    room.write_bytes(b"x" * 60 * 1024)
    with pytest.raises(OSError, match=r"could not be written \(No space left on device\)"):
        prepare(recipe(sst_task()), data, output, progress=Progress())
    assert names(full_disk) == {"ballast"}
    room.unlink()
    use(prepare(recipe(sst_task()), data, output, progress=Progress()))
    assert names(full_disk) == {"out"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: [], "not a tokenizer"),
        (lambda content: {**content, "model": 3}, "not a tokenizer"),
        (lambda content: changed(content, unk_token="word"), r"model\.unk_token: expected <unk>"),
        (lambda content: changed(content, vocab={**content["model"]["vocab"], "far": 9999}), "model.vocab"),
    ],
)
def test_a_tokenizer_of_another_shape_is_refused(
    tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    WordVocabulary.learn({"word": 1}, min_count=1).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=rf"tokenizer\.json: .*{message}"):
        load_vocabulary(tmp_path)


def changed(content: dict[str, Any], **model: object) -> dict[str, Any]:
    return {**content, "model": {**content["model"], **model}}


def test_a_column_that_ends_early_is_named(tmp_path: Path) -> None:
    """A damaged Parquet file can hold more values in one column than in another."""
    path = tmp_path / "train.parquet"
    for labels, trees, message in [
        (["a", "b"], ["(A a)"], f"expected a line for each in the tree column of {path}, which ends before"),
        (["a"], ["(A a)", "(A b)"], f"expected a line for each in {path}, which ends before"),
    ]:
        columns: dict[str, Iterator[Any]] = {"file": iter(labels), "tree column": iter(trees)}
        lines = list(aligned_lines({"file": path}, columns))
        assert lines[0].bad is None
        assert lines[1].bad is not None
        assert lines[1].bad.location == f"{path}:2"
        assert lines[1].bad.problem == message
