"""Trained models, loaded from their run folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from treeformer.configuration import read_json
from treeformer.data.processor import PROCESSOR, TreeProcessor
from treeformer.data.tasks.task import TaskKind
from treeformer.data.vocabulary import TOKENIZER
from treeformer.inference.run_folder import check_run_folder
from treeformer.machine import chosen_device
from treeformer.models.pretrained import PreTrained
from treeformer.models.systems import System, load

FACTS = "run.json"
_CARD = "README.md"
_TRAINING_DATA = re.compile(r"^\*\*Training data\*\*: (.+?)(?:\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
_DOES = {
    "classification": "classifies: see treeformer classify",
    "translation": "translates: see treeformer translate",
}


class Loaded(NamedTuple):
    """A trained model and the processor that makes its inputs."""

    system: System
    model: PreTrained
    processor: TreeProcessor


def load_run(
    folder: str | Path, kind: TaskKind | None = None, *, device: str | None = None, bf16: bool = False
) -> Loaded:
    """The model of a run, ready to answer.

    Args:
        folder: a run folder written by ``treeformer train``.
        kind: required kind of task; None for any.
        device: ``cpu`` or ``cuda``; by default a GPU where there is one.
        bf16: compute in bfloat16.
    """
    folder = Path(folder)
    check_run_folder(folder)
    processor = TreeProcessor.from_pretrained(folder)
    if kind is not None and processor.settings.kind != kind:
        raise ValueError(f"{folder}: this model {_DOES[processor.settings.kind]}")
    system, model = load(folder)
    _check_sizes(folder, model, processor)
    nn.Module.to(model, chosen_device(device), torch.bfloat16 if bf16 else torch.float32)
    return Loaded(system, model.train(False).requires_grad_(False), processor)


def run_facts(folder: str | Path) -> dict[str, Any]:
    """The content of ``run.json``, empty where there is no such file."""
    path = Path(folder) / FACTS
    return read_json(path) if path.is_file() else {}


def trained_on(folder: str | Path) -> str:
    """What a model was trained on; empty where its folder does not say.

    This is the paragraph ``**Training data**:`` of its README.md, otherwise the training file of its recipe.
    """
    card = Path(folder) / _CARD
    if card.is_file():
        paragraph = _TRAINING_DATA.search(card.read_text(encoding="utf-8", errors="replace"))
        if paragraph is not None:
            return " ".join(paragraph[1].split())
    content: Any = run_facts(folder)
    for key in ("recipe", "data", "task", "splits", "train", "file"):
        content = content.get(key, {}) if isinstance(content, dict) else {}
    return content if isinstance(content, str) else ""


def _check_sizes(folder: Path, model: PreTrained, processor: TreeProcessor) -> None:
    """Raise ``ValueError`` if a model has too few rows for the ids of its processor."""
    sizes = {"vocab_size": processor.vocab_size, "node_vocab_size": processor.node_vocab_size}
    if processor.settings.kind == "classification":
        sizes["num_labels"] = len(processor.settings.classes)
    for key, expected in sizes.items():
        size = getattr(model.config, key, None)
        if isinstance(size, int) and size != expected:
            raise ValueError(
                f"{folder}: config.json has {key} {size}, but {PROCESSOR} and {TOKENIZER} have {expected}; "
                "the files are not of one model"
            )
