"""Anybody's data: tables with texts or trees and labels."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.data.corpora import (
    inputs,
    node_labels,
    prepared,
    recipe,
    words,
    write,
)
from treeformer.data.corpus import PreparedCorpus

ROWS = ({"text": "A fine, old film.", "label": "good"}, {"text": "Dull. I slept.", "label": "bad"})


def task_of(file: str, **more: object) -> dict[str, object]:
    return {"name": "labelled", "splits": {"train": {"file": file}}, **more}


def test_json_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    data = write(
        tmp_path / "data",
        a__jsonl=[dict(row) for row in ROWS],
        a__csv='text,label\n"A fine, old film.",good\n"Dull.\nI slept.",bad\n',
        a__tsv="text\tlabel\nA fine, old film.\tgood\nDull. I slept.\tbad\n",
    )
    pq.write_table(pa.Table.from_pylist(list(ROWS)), data / "a.parquet")
    found = [
        inputs(prepared(recipe(task_of(f"a.{kind}")), data, tmp_path / kind))
        for kind in ("jsonl", "csv", "tsv", "parquet")
    ]
    assert found[0] == found[1] == found[2] == found[3]
    corpus = PreparedCorpus.open(tmp_path / "csv")
    assert corpus.manifest.classes == ("bad", "good")
    assert words(corpus, 0) == ["A", "fine", ",", "old", "film", "."]
    assert node_labels(corpus, 1)[-1] == "DOC"


def test_trees_may_stand_in_a_column(tmp_path: Path) -> None:
    rows = [{"parse": "(S (NP (DT A) (NN cat)) (VP (VBZ sleeps)))", "class": number} for number in (3, 1)]
    data = write(tmp_path / "data", a__jsonl=rows)
    corpus = prepared(recipe(task_of("a.jsonl", tree="parse", label="class")), data, tmp_path / "out")
    assert node_labels(corpus, 0) == ["NP", "S"]
    assert corpus.manifest.classes == ("1", "3")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tree": "(S (X x))"}, "expected a value in the column label, found the columns tree"),
        ({"label": "a"}, "expected a value in the column tree"),
        ({"label": "a", "tree": "(S (X x)"}, "at character 1 of the tree"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, object], message: str) -> None:
    data = write(tmp_path / "data", a__jsonl=[{"label": "a", "tree": "(S (X x))"}, row])
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: .*{message}"):
        prepared(recipe(task_of("a.jsonl", tree="tree")), data, tmp_path / "out")
    corpus = prepared(recipe(task_of("a.jsonl", tree="tree"), drop=True), data, tmp_path / "out")
    assert len(corpus["train"]) == 1


def test_a_class_that_train_has_not_is_named(tmp_path: Path) -> None:
    tree = "(S (X x))"
    data = write(
        tmp_path / "data",
        a__jsonl=[{"label": "a", "tree": tree}],
        b__jsonl=[{"label": "b", "tree": tree}],
    )
    task = task_of("a.jsonl", tree="tree")
    task["splits"]["test"] = {"file": "b.jsonl"}  # type: ignore[index]
    with pytest.raises(ValueError, match=r"b\.jsonl:1: expected one of the classes of train, a, found 'b'"):
        prepared(recipe(task), data, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "[1]\n", r"a\.jsonl:1: expected a JSON object, found list"),
        ("a.jsonl", "{\n", r"a\.jsonl:1: expected a JSON object on each line"),
        ("a.parquet", "no", r"a\.parquet: expected Parquet"),
        ("a.txt", "no", r"a\.txt: expected a file \.jsonl, \.csv, \.tsv or \.parquet"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        prepared(recipe(task_of(name, tree="tree")), tmp_path, tmp_path / "out")


def test_json_keeps_other_scripts(tmp_path: Path) -> None:
    rows = [{"label": "ja", "tree": "(S (X 猫))"}, {"label": "nein", "tree": "(S (X 犬))"}]
    data = write(tmp_path / "data", a__jsonl=[json.dumps(row, ensure_ascii=False) for row in rows])
    corpus = prepared(recipe(task_of("a.jsonl", tree="tree")), data, tmp_path / "out")
    assert words(corpus, 0) == ["猫"]
