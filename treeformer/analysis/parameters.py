"""How many parameters the paper's models have, and the systems of all recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from treeformer.data.corpus import MANIFEST, Manifest
from treeformer.data.recipe import Subwords
from treeformer.models.systems import build, system_named
from treeformer.training.recipe import Recipe

_ROWS, _LABELS = 34_392, 92  # the paper's table: tokens and labels
_BASE = {"d_model": 512, "ffn_dim": 2048, "encoder_layers": 6, "decoder_layers": 6, "attention_heads": 8}
_NOT_TRAINED = ("demo", "labelled")  # recipes that are no experiments of the paper


def count_parameters(recipes: Path, prepared: Path) -> dict[str, Any]:
    """Parameters of the paper's base models and of all recipes.

    Args:
        recipes: their folder.
        prepared: prepared corpora, which tell how many words and labels there are.
    """
    base = {
        "Transformer base": _count("transformer", "translation", _BASE, _ROWS, 0),
        "Tree Transformer base": _count("tree-transformer", "translation", _BASE, _ROWS - _LABELS, _LABELS),
    }
    rows = []
    for path in sorted(recipes.glob("*.yaml")):
        if path.stem.startswith("parser-") or path.stem in _NOT_TRAINED:
            continue
        rows += _of_recipe(path, prepared / path.stem)
    return {"base": base, "rows_of_the_table": _ROWS, "recipes": rows}


def _of_recipe(path: Path, prepared: Path) -> list[dict[str, Any]]:
    """For each system its parameters; those of a corpus that is not prepared without the table of tokens."""
    recipe = Recipe.load(path)
    kind = recipe.data.task.kind
    tokens, labels = None, _LABELS
    classes: tuple[str, ...] = ("0", "1")
    if (prepared / MANIFEST).is_file():
        manifest = Manifest.model_validate_json((prepared / MANIFEST).read_bytes())
        tokens, labels, classes = manifest.vocab_size, manifest.node_vocab_size, manifest.classes or classes
    elif isinstance(recipe.data.vocabulary, Subwords):
        tokens = recipe.data.vocabulary.size
    rows = []
    for name, own in recipe.systems.items():
        sizes = own.sizes
        few, many = (_count(name, kind, sizes, count, labels, classes) for count in (1000, 2000))
        each = (many - few) // 1000
        rows.append(
            {
                "recipe": path.stem,
                "system": name,
                "tokens": tokens,
                "labels": labels,
                "without_tokens": few - 1000 * each,
                "parameters": None if tokens is None else few + (tokens - 1000) * each,
            }
        )
    return rows


def _count(
    system: str,
    kind: Any,
    sizes: dict[str, Any],
    tokens: int,
    labels: int,
    classes: tuple[str, ...] = ("0", "1"),
) -> int:
    """The parameters of a model, which is not filled with numbers."""
    with torch.device("meta"):
        model = build(
            system_named(system),
            kind,
            sizes,
            vocab_size=tokens,
            node_vocab_size=max(labels, 1),
            classes=() if kind == "translation" else classes,
        )
    return sum(parameter.numel() for parameter in model.parameters())
