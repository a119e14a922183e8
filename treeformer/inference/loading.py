"""Trained models, loaded from their run folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from treeformer.data.processor import PROCESSOR, TreeProcessor
from treeformer.data.tasks.task import TaskKind
from treeformer.machine import chosen_device
from treeformer.models.pretrained import PreTrained
from treeformer.models.systems import System, load

FACTS = "run.json"
_NEEDED = ("config.json", PROCESSOR)
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
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder, expected a run of treeformer train")
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder}: no {missing[0]} there, expected a run of treeformer train")
    processor = TreeProcessor.from_pretrained(folder)
    if kind is not None and processor.settings.kind != kind:
        raise ValueError(f"{folder}: this model {_DOES[processor.settings.kind]}")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(
            f"{folder}: no model there yet, training has not yet been evaluated on dev or finished"
        )
    system, model = load(folder)
    nn.Module.to(model, chosen_device(device), torch.bfloat16 if bf16 else torch.float32)
    return Loaded(system, model.train(False).requires_grad_(False), processor)


def run_facts(folder: str | Path) -> dict[str, Any]:
    """The content of ``run.json``, empty where there is no such file."""
    path = Path(folder) / FACTS
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path}: not a JSON object: {error}") from error
