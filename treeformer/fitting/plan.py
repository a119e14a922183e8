"""The recipe of a fit: that of ``labelled``, with a system and a length that suit the number of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treeformer.training.recipe import Recipe

_SPLITS = "{train: {file: train.jsonl}, dev: {file: dev.jsonl}, test: {file: test.jsonl}}"
# Up to these words of train. Over an encoder the Tree-LSTM was level with the default system on dev with a
# tenth of SST-5 (17,000 words), in less than half of the time.
_SMALL = 200_000
_EPOCHS = ((20_000, 20), (100_000, 8), (1_000_000, 5))  # largest number of words, passes over train
_FEWEST_EPOCHS = 3


def fit_recipe(words: int, language: str, encoder: str | Path | None, overrides: Sequence[str]) -> Recipe:
    """The recipe for a training set with this number of words.

    Args:
        words: words of train, roughly.
        language: of the texts.
        encoder: name or folder of a pretrained encoder, used frozen; None to train from scratch.
        overrides: changes as in ``training.epochs=5``, which come last.
    """
    epochs = next((epochs for most, epochs in _EPOCHS if words <= most), _FEWEST_EPOCHS)
    changes = [
        f"data.task.language={language}",
        f"data.task.splits={_SPLITS}",
        "data.task.hold_out=null",
        "data.vocabulary.lower=true",
        "training.updates=null",
        f"training.epochs={epochs if encoder is not None else 2 * epochs}",
        "training.evaluate_every=null",
        "training.warm_up=0.1",
        "training.patience=5",
        "training.metric=loss",
    ]
    if words <= _SMALL:
        changes.append("model=tree-lstm")
    if encoder is not None:
        changes.append(f"encoder={encoder}")
    return Recipe.load("labelled", [*changes, *overrides])
