"""Tiny corpora and recipes to train on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.progress import Progress
from treeformer.training.recipe import Recipe
from treeformer.trees import Tree, random_tree

SCORES = {"awful": 0, "bad": 1, "plain": 2, "good": 3, "great": 4, "film": 2, "the": 2, "story": 2}
SIZES = {"d_model": 16, "ffn_dim": 24, "encoder_layers": 1, "attention_heads": 2, "dropout": 0.1}
TRAINING = {
    "updates": 12,
    "tokens": 200,
    "learning_rate": 0.01,
    "warm_up": 2,
    "label_smoothing": 0.1,
    "evaluate_every": 4,
    "log_every": 2,
}


def score(words: tuple[str, ...]) -> str:
    return str(round(sum(SCORES[word] for word in words) / len(words)))


def sentiment_tree(generator: random.Random) -> tuple[Tree, Tree]:
    """A tree of sentiments, and a tree of phrase labels over its spans."""
    words = tuple(generator.choices(list(SCORES), k=generator.randint(2, 9)))
    shape = random_tree(words, seed=generator.randrange(10**6))
    labels = [score(words[start:end]) for start, end in shape.spans]
    scored = Tree(words, [score((word,)) for word in words], labels, shape.spans)
    return scored, Tree(words, ["NN"] * len(words), [f"X{len(label)}" for label in labels], shape.spans)


def sentiment_files(folder: Path, sizes: dict[str, int]) -> None:
    """Write files in the format of SST."""
    generator = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in sizes.items():
        pairs = [sentiment_tree(generator) for _ in range(size)]
        for name, trees in zip(("txt", "phrases"), zip(*pairs, strict=True), strict=True):
            (folder / f"{split}.{name}").write_text("".join(f"{tree}\n" for tree in trees))


def sentiment_recipe(path: Path, **training: Any) -> Path:
    """A recipe for these files."""
    splits = {split: {"file": f"{split}.txt", "trees": f"{split}.phrases"} for split in ("train", "dev")}
    content = {
        "data": {
            "task": {"name": "sst", "classes": 5, "splits": splits},
            "vocabulary": {"kind": "words", "min_count": 1},
        },
        "model": "tree-transformer",
        "systems": {
            "tree-transformer": {"sizes": SIZES},
            "composed-tree-transformer": {"sizes": SIZES},
            "transformer": {"sizes": SIZES, "training": {"learning_rate": 0.02}},
        },
        "training": {**TRAINING, **training},
    }
    path.write_text(yaml.safe_dump(content))
    return path


def sentiment(folder: Path) -> PreparedCorpus:
    """A prepared corpus of sentiments, with ``recipe.yaml`` beside it."""
    sentiment_files(folder / "files", {"train": 60, "dev": 20})
    recipe = Recipe.load(sentiment_recipe(folder / "recipe.yaml"))
    return prepare(recipe.data, folder / "files", folder / "prepared", progress=Progress())


def translation(folder: Path) -> PreparedCorpus:
    """A prepared corpus whose targets are the sources backwards, with ``recipe.yaml`` beside it."""
    generator = random.Random(1)
    folder.mkdir(parents=True)
    for split, size in {"train": 60, "dev": 20}.items():
        pairs = [sentiment_tree(generator)[1] for _ in range(size)]
        (folder / f"{split}.en").write_text("".join(f"{' '.join(tree.words)}\n" for tree in pairs))
        (folder / f"{split}.de").write_text("".join(f"{' '.join(tree.words[::-1])}\n" for tree in pairs))
        (folder / f"{split}.trees").write_text("".join(f"{tree}\n" for tree in pairs))
    splits = {
        split: {"file": f"{split}.en", "target": f"{split}.de", "trees": f"{split}.trees"}
        for split in ("train", "dev")
    }
    content = {
        "data": {
            "task": {"name": "translation", "target_language": "de", "splits": splits},
            "vocabulary": {"kind": "bpe", "size": 64},
        },
        "model": "tree-transformer",
        "systems": {
            name: {"sizes": {**SIZES, "decoder_layers": 1}} for name in ("tree-transformer", "transformer")
        },
        "training": TRAINING,
        "decoding": {"beams": 3, "length_penalty": 0.7},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(content))
    recipe = Recipe.load(folder / "recipe.yaml")
    return prepare(recipe.data, folder, folder / "prepared", progress=Progress())


def experiment(corpus: PreparedCorpus, *changes: str) -> Recipe:
    """The recipe beside a corpus, with overrides."""
    return Recipe.load(corpus.folder.parent / "recipe.yaml", changes)


TIMES = {"tokens_per_second", "updates_per_second", "waiting"}  #: metrics that differ from run to run


def metrics(run: Path) -> list[dict[str, float]]:
    """Lines of a run's metrics, without times."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]
