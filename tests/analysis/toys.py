"""Tiny data and recipes with the names that experiments ask for."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import yaml

from tests.training.corpora import SIZES, TRAINING, sentiment_files, sentiment_tree
from treeformer.progress import Progress


class RecordedLines(Progress):
    """Progress that keeps its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


SPLITS = {"train": 60, "dev": 20, "test": 30}
LSTM = {"d_model": 12}


def sentiment_data(folder: Path) -> Path:
    """Files of the task ``sst5``."""
    sentiment_files(folder, SPLITS)
    return folder


def parallel_data(folder: Path) -> Path:
    """Files of the task ``multi30k-en-de``: sentences to be reversed."""
    chance = random.Random(2)
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in SPLITS.items():
        trees = [sentiment_tree(chance)[1] for _ in range(size)]
        (folder / f"{split}.en").write_text("".join(f"{' '.join(tree.words)}\n" for tree in trees))
        (folder / f"{split}.de").write_text("".join(f"{' '.join(tree.words[::-1])}\n" for tree in trees))
        (folder / f"{split}.trees").write_text("".join(f"{tree}\n" for tree in trees))
    return folder


def sentiment_recipe(folder: Path, **training: Any) -> Path:
    """The folder of recipes, with ``sst5.yaml``."""
    files = {split: {"file": f"{split}.txt", "trees": f"{split}.phrases"} for split in SPLITS}
    return _recipe(
        folder / "sst5.yaml",
        {"name": "sst", "classes": 5, "splits": files},
        {"kind": "words", "min_count": 1},
        {
            "tree-transformer": {"sizes": SIZES},
            "composed-tree-transformer": {"sizes": SIZES},
            "transformer": {"sizes": SIZES, "phrases": True},
            "tree-lstm": {"sizes": LSTM},
            "bilstm": {"sizes": LSTM, "phrases": True},
        },
        training,
    )


def parallel_recipe(folder: Path, **training: Any) -> Path:
    """The folder of recipes, with ``multi30k-en-de.yaml``."""
    files = {
        split: {"file": f"{split}.en", "target": f"{split}.de", "trees": f"{split}.trees"} for split in SPLITS
    }
    sizes = {**SIZES, "decoder_layers": 1}
    return _recipe(
        folder / "multi30k-en-de.yaml",
        {"name": "translation", "target_language": "de", "splits": files},
        {"kind": "bpe", "size": 64},
        {name: {"sizes": sizes} for name in ("tree-transformer", "transformer")},
        training,
        decoding={"beams": 2},
    )


def _recipe(
    path: Path,
    task: dict[str, Any],
    vocabulary: dict[str, Any],
    systems: dict[str, Any],
    training: dict[str, Any],
    **more: Any,
) -> Path:
    content = {
        "data": {"task": task, "vocabulary": vocabulary},
        "model": "tree-transformer",
        "systems": systems,
        "training": {**TRAINING, **training},
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path.parent
