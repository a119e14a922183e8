"""Rows in memory: data frames, datasets and generators are prepared like files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas
import pyarrow
import pytest

from tests.data.corpora import inputs, recipe, write
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.processor import _checked_inputs
from treeformer.trees import Tree

TREE = "(S (NP (DT A) (NN cat)) (VP (VBZ sleeps)))"
ROWS = [{"parse": TREE, "label": number} for number in (3, 1, 3)]
TASK = {"name": "labelled", "tree": "parse", "splits": {"train": {"file": "train.jsonl"}}}
TABLES: dict[str, Callable[[], Any]] = {
    "rows": lambda: ROWS,
    "generator": lambda: (row for row in ROWS),
    "trees": lambda: [row | {"parse": Tree.from_brackets(TREE)} for row in ROWS],
    "pandas": lambda: pandas.DataFrame(ROWS),
    "datasets": lambda: datasets.Dataset.from_list(ROWS),
    "arrow": lambda: pyarrow.Table.from_pylist(ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_in_memory_give_the_corpus_of_a_file(kind: str, tmp_path: Path) -> None:
    data = write(tmp_path / "data", train__jsonl=ROWS)
    chosen = recipe(TASK)
    from_file = prepare(chosen, data, tmp_path / "file")
    from_rows = prepare(chosen, {"train": TABLES[kind]()}, tmp_path / "rows")
    assert inputs(from_rows) == inputs(from_file)
    assert PreparedCorpus.open(tmp_path / "rows").manifest.classes == ("1", "3")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"test": ROWS}, "expected rows for the split train, got test"),
        ({"train": [*ROWS, "a text"]}, "train: expected a dictionary as row 4, got str"),
    ],
)
def test_rows_that_are_missing_or_none_are_named(tables: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        prepare(recipe(TASK), tables, tmp_path / "out")


def test_a_doc_of_spacy_is_its_tree_or_its_text() -> None:
    spacy = pytest.importorskip("spacy")
    from treeformer.integrations.spacy import from_trees

    tree = Tree.from_brackets(TREE)
    two = from_trees([tree, tree])
    plain = spacy.blank("en")("A cat sleeps.")
    [one, text, document] = _checked_inputs([from_trees([tree]), plain, two])
    assert one == tree
    assert text == "A cat sleeps."
    assert document.labels[-1] == "DOC"
    assert document.words == tree.words * 2
