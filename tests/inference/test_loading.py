"""What the folder of a model says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.inference.loading import trained_on
from treeformer.inference.shipped import SHIPPED, SHIPPED_OVER_ENCODER
from treeformer.storage import write_json


def test_a_readme_says_what_a_model_was_trained_on(tmp_path: Path) -> None:
    card = "# A model\n\n**Training data**: two thousand\nreviews of *shops*.\n\n**Licence**: none\n"
    (tmp_path / "README.md").write_text(card)
    assert trained_on(tmp_path) == "two thousand reviews of *shops*."
    for folder in (SHIPPED, SHIPPED_OVER_ENCODER):
        assert trained_on(folder).startswith("the training part of the Stanford Sentiment Treebank")


def test_otherwise_its_recipe_names_the_training_file(tmp_path: Path) -> None:
    splits = {"train": {"file": "shops.jsonl"}}
    write_json(tmp_path / "run.json", {"recipe": {"data": {"task": {"splits": splits}}}})
    (tmp_path / "README.md").write_text("# Notes\n")
    assert trained_on(tmp_path) == "shops.jsonl"


@pytest.mark.parametrize("content", [None, {}, {"recipe": {}}, {"recipe": {"data": []}}])
def test_a_folder_that_says_nothing_is_no_error(tmp_path: Path, content: object) -> None:
    if content is not None:
        write_json(tmp_path / "run.json", content)
    assert trained_on(tmp_path) == ""
