"""The recipe of a fit: that of ``labelled``, with a length of training that suits the number of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treeformer.training.recipe import Recipe

_SPLITS = "{train: {file: train.jsonl}, dev: {file: dev.jsonl}, test: {file: test.jsonl}}"


def fit_recipe(words: int, language: str, encoder: str | Path | None, overrides: Sequence[str]) -> Recipe:
    """The recipe for a training set with this number of words.

    Args:
        words: words of train, roughly.
        language: of the texts.
        encoder: name or folder of a pretrained encoder, used frozen; None to train from scratch.
        overrides: changes as in ``training.epochs=5``, which come last.
    """
    changes = [
        f"data.task.language={language}",
        f"data.task.splits={_SPLITS}",
        "data.task.hold_out=null",
        "data.vocabulary.lower=true",
        *_length(words),
    ]
    if encoder is not None:
        changes.append(f"encoder={encoder}")
    return Recipe.load("labelled", [*changes, *overrides])


def _length(words: int) -> list[str]:
    """How long to train, in passes over train; a large train also has a largest number of updates."""
    epochs = 40 if words < 20_000 else 20
    return [
        "training.updates=5000",
        f"training.epochs={epochs}",
        "training.evaluate_every=null",
        "training.warm_up=0.1",
        "training.patience=8",
        "training.metric=loss",
    ]
