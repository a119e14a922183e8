"""Embedded parsers are trained and written whole, by one process at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from treeformer import load_parser
from treeformer.progress import Progress
from treeformer.storage import WorkFolder, sha256
from treeformer.training.parser_training import ParserRecipe, train_parser

TREE = "(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))\n"


def recipe(**learning: Any) -> ParserRecipe:
    sizes = {
        "known_words": 9,
        "buckets": 30,
        "word_width": 8,
        "width": 8,
        "layers": 1,
        "heads": 2,
        "inner": 8,
    }
    return ParserRecipe.model_validate(
        {
            "name": "tiny",
            "language": "en",
            "trees": [{"file": "trees", "licence": "none"}],
            "network": {**sizes, "span_width": 8, "bits": 8},
            "learning": {"updates": 3, "batch_words": 60, "rare": 1, **learning},
        }
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "trees").write_text(TREE * 20)
    return tmp_path


def train(data: Path, **learning: Any) -> None:
    train_parser(recipe(**learning), data, data / "parser", device="cpu", progress=Progress())


def test_a_trained_parser_parses_and_has_checksums(data: Path) -> None:
    train(data)
    train(data)  # over the first
    assert {path.name for path in (data / "parser").iterdir()} == {
        *("parser.json", "parser.safetensors", "checksums.json")
    }
    assert {path.name for path in data.iterdir()} == {"trees", "parser"}
    (tree,) = load_parser(data / "parser").parse_tokens([["the", "cat"]])
    assert tree.words == ("the", "cat")


def test_a_diverging_training_leaves_the_parser_that_is_there(data: Path) -> None:
    train(data)
    before = {path.name: sha256(path) for path in (data / "parser").iterdir()}
    for rate in (1e18, 1e20):
        with pytest.raises(ValueError, match=r"infinite or NaN|lower learning rate"):
            train(data, learning_rate=rate, warm_up=1)
    assert {path.name: sha256(path) for path in (data / "parser").iterdir()} == before


def test_a_second_training_of_a_parser_is_refused(data: Path) -> None:
    with (
        WorkFolder(data / "parser"),
        pytest.raises(BlockingIOError, match=f"parser: being written by another process .*{os.getpid()}"),
    ):
        train(data)
