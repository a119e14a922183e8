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
from treeformer.data import preparation
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.sample import aligned_lines

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
        ({"tree": "(S (X x))"}, "column label: missing, found the columns tree; drop: true skips it"),
        ({"label": "a"}, "column tree: missing, found the columns label"),
        ({"label": "a", "tree": None}, "column tree: expected a tree, found nothing"),
        ({"label": "a", "tree": ["(S (X x))"]}, "column tree: expected a tree, found a value of type list"),
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


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        (None, "expected a label, found nothing"),
        (" ", "expected a label, found nothing"),
        (float("nan"), "expected a label, found NaN"),
        (float("inf"), "expected a label, which is text or a whole number, found inf"),
        (1.5, "expected a label, which is text or a whole number, found 1.5"),
        (["a"], "found a value of type list"),
        ({"a": 1}, "found a value of type dict"),
        ("\ud800", "found a lone surrogate"),
    ],
)
def test_a_value_that_is_no_label_is_a_bad_line(tmp_path: Path, label: object, problem: str) -> None:
    row = {"label": label, "tree": "(S (X x))"}
    data = write(tmp_path / "data", a__jsonl=[{"label": "a", "tree": "(S (X x))"}, row])
    with pytest.raises(ValueError, match=rf"a\.jsonl:2: column label: .*{problem}"):
        prepared(recipe(task_of("a.jsonl", tree="tree")), data, tmp_path / "out")
    corpus = prepared(recipe(task_of("a.jsonl", tree="tree"), drop=True), data, tmp_path / "out")
    assert corpus.manifest.classes == ("a",)
    assert corpus.manifest.splits["train"].dropped == {"no label": 1}


def test_equal_labels_are_one_class(tmp_path: Path) -> None:
    labels = (1, 1.0, True, "1", " 1 ", 0, 0.0, False, "0")
    data = write(tmp_path / "data", a__jsonl=[{"label": label, "tree": "(S (X x))"} for label in labels])
    corpus = prepared(recipe(task_of("a.jsonl", tree="tree")), data, tmp_path / "out")
    assert corpus.manifest.classes == ("0", "1")
    assert [corpus["train"][number].label for number in range(len(labels))] == [1] * 5 + [0] * 4


def test_texts_are_checked_before_anything_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_parse", lambda *_: pytest.fail("parsed"))
    data = tmp_path / "data"
    data.mkdir()
    values = [b"A film.", b"Dull."]
    table = pa.table({"text": pa.array(values, pa.binary()), "label": ["good", "bad"]})
    pq.write_table(table, data / "bytes.parquet")
    rows: list[object] = ["A film.", "", None, float("nan"), 3, ["A film."], "Dull."]
    write(
        data,
        a__jsonl=[{"text": text, "label": "x"} for text in rows],
        a__csv='text,label\n"A\nfilm.",good\n,bad\n',
        commas__csv="text,label\nA fine, old film.,good\nDull.,bad\n",
        quote__csv='text,label\n"A fine, old film.,good\nDull.,bad\n',
        twice__csv="text,label,text\nA,b,c\n",
        header__csv='text,"a\nb"\nA,b\n',
    )
    for name, message in [
        ("bytes.parquet", r"bytes\.parquet:1: column text: expected a text, found a value of type bytes"),
        (
            "a.jsonl",
            r"a\.jsonl:2: column text: expected a text, found nothing; .*:3: .*; .*:4: .*NaN; "
            "5 bad lines in all; drop: true skips them",
        ),
        ("a.csv", r"a\.csv:4: column text: expected a text, found nothing; drop"),
        ("commas.csv", r"commas\.csv:2: expected 2 fields as in the header, found 3"),
        ("quote.csv", r"quote\.csv:2: expected CSV: unexpected end of data"),
        ("header.csv", r"header\.csv: expected one column label, found the columns text, a\\nb"),
        ("twice.csv", r"twice\.csv: expected one column text, found the columns text, label, text"),
    ]:
        with pytest.raises(ValueError, match=message) as raised:
            prepared(recipe(task_of(name)), data, tmp_path / "out")
        assert ".treeformer" not in str(raised.value)
    for drop in (False, True):
        for name in ("a.csv", "bytes.parquet"):
            with pytest.raises(ValueError, match=rf"{name}: expected one column txt, found .*text, label"):
                prepared(recipe(task_of(name, text="txt"), drop=drop), data, tmp_path / "out")
        with pytest.raises(ValueError, match=r"a\.jsonl:1: column txt: missing, found .*and no good one"):
            prepared(recipe(task_of("a.jsonl", text="txt"), drop=drop), data, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_text_without_words_is_named_in_its_own_file(tmp_path: Path) -> None:
    data = write(tmp_path / "data", a__csv='text,label\n"A\nfilm.",good\n\u2028\u200b,bad\nDull.,bad\n')
    with pytest.raises(ValueError, match=r"data/a\.csv:4: expected a text with words, .*drop: true skips it"):
        prepared(recipe(task_of("a.csv")), data, tmp_path / "out")
    corpus = prepared(recipe(task_of("a.csv"), drop=True), data, tmp_path / "out")
    assert corpus.manifest.splits["train"].dropped == {"no tree": 1}
    assert len(corpus["train"]) == 2


def test_deep_and_damaged_tables_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([dict(row) for row in ROWS]), tmp_path / "a.parquet")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[10] ^= 0xFF
    (tmp_path / "a.parquet").write_bytes(content)
    (tmp_path / "a.jsonl").write_text('{"text": ' + "[" * 100_000 + "\n")
    for name, message in [
        ("a.parquet", r"a\.parquet: expected Parquet: "),
        ("a.jsonl", r"a\.jsonl:1: expected a JSON object, found one nested too deeply"),
    ]:
        with pytest.raises(ValueError, match=message):
            prepared(recipe(task_of(name)), tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("rows", "trees", "shorter"), [("ab", "a", "the tree column of a.parquet"), ("a", "ab", "a.parquet")]
)
def test_a_column_of_a_damaged_file_that_ends_early_is_named(rows: str, trees: str, shorter: str) -> None:
    columns = {"file": iter(rows), "tree column": iter(trees)}
    first, second = aligned_lines({"file": Path("a.parquet")}, columns)
    assert first.bad is None
    assert second.bad is not None
    assert second.bad.problem == f"expected a line for each in {shorter}, which ends before"


DEPENDENCIES = """1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_

1\told\t_\tADJ\t_\t_\t2\tamod\t_\t_
2\tcats\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_
"""


def test_dependency_trees_may_stand_in_a_file_or_in_a_column(tmp_path: Path) -> None:
    rows = [{"label": "dog"}, {"label": "cat"}]
    columns = [row | {"tree": text} for row, text in zip(rows, DEPENDENCIES.split("\n\n"), strict=True)]
    data = write(tmp_path / "data", a__jsonl=rows, b__jsonl=columns, a__conllu=DEPENDENCIES)
    beside = {"name": "labelled", "splits": {"train": {"file": "a.jsonl", "trees": "a.conllu"}}}
    corpora = [
        prepared(recipe(beside), data, tmp_path / "beside"),
        prepared(recipe(task_of("b.jsonl", tree="tree")), data, tmp_path / "inside"),
    ]
    assert inputs(corpora[0]) == inputs(corpora[1])
    assert words(corpora[0], 1) == ["old", "cats", "sleep"]
    assert len(node_labels(corpora[0], 1)) == 2


def test_a_dependency_tree_that_is_none_is_a_bad_line_of_its_sentence(tmp_path: Path) -> None:
    broken = DEPENDENCIES.replace("2\tbark\t_\tVERB\t_\t_\t0", "2\tbark\t_\tVERB\t_\t_\t1")
    data = write(tmp_path / "data", a__jsonl=[{"label": "dog"}, {"label": "cat"}], a__conllu=broken)
    task = {"name": "labelled", "splits": {"train": {"file": "a.jsonl", "trees": "a.conllu"}}}
    with pytest.raises(ValueError, match=r"a\.conllu:1:\d+: HEAD: expected .*; drop: true skips it"):
        prepared(recipe(task), data, tmp_path / "out")
    corpus = prepared(recipe(task, drop=True), data, tmp_path / "out")
    assert words(corpus, 0) == ["old", "cats", "sleep"]
    assert corpus.manifest.classes == ("cat",)
