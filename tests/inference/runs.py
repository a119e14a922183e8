"""Runs of tiny models to ask."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.training.corpora import experiment
from treeformer.data.corpus import PreparedCorpus
from treeformer.models.systems import load
from treeformer.progress import Progress
from treeformer.training.loop import train

END = 2


def trained(corpus: PreparedCorpus, folder: Path, system: str, *changes: str) -> Path:
    """The run of a system after two updates, with weights so lively that answers differ."""
    updates = ("training.updates=2", "training.evaluate_every=2")
    recipe = experiment(corpus, f"model={system}", *updates, *changes)
    train(recipe, corpus, folder, device="cpu", progress=Progress())
    _, model = load(folder)
    torch.manual_seed(3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        model.get_input_embeddings().weight[END] *= 1.5
    model.save_pretrained(folder)
    return folder
