"""A run folder: what was trained, from what, how it went, and the model that came out."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import yaml
from torch import Tensor
from transformers import PreTrainedModel

from treeformer.configuration import Settings
from treeformer.data.corpus import MANIFEST, PreparedCorpus
from treeformer.inference.loading import FACTS, run_facts
from treeformer.storage import write_file
from treeformer.training.recipe import DecodingRecipe, Recipe

_HARMLESS = ("training.workers", "training.log_every", "training.tensorboard")


class Run:
    """The folder of one training. One that is there is gone on with, if it is of the same experiment.

    Args:
        folder: where it is, or is to be.
        recipe: the experiment, resolved.
        corpus: what it learns from.
        seed: of weights, order and dropout.
    """

    def __init__(self, folder: Path, recipe: Recipe, corpus: PreparedCorpus, seed: int) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.recipe = recipe
        self.corpus = corpus
        self.facts: dict[str, Any] = {
            "seed": seed,
            "corpus": fingerprint(corpus),
            "recipe": recipe.model_dump(mode="json"),
            "finished": False,
        }
        prepared = changes_since(corpus.manifest.recipe, recipe.data, "data")
        if prepared:
            raise ValueError(f"{corpus.folder}: prepared for another recipe ({'; '.join(prepared)})")
        if (folder / FACTS).exists():
            self._go_on()
        elif folder.exists() and not all(path.name.startswith(".") for path in folder.iterdir()):
            raise ValueError(f"{folder}: there is something else; expected a run, an empty folder or none")

    def _go_on(self) -> None:
        there = run_facts(self.folder)
        for key, what in (("seed", "seed"), ("corpus", "prepared corpus")):
            if there[key] != self.facts[key]:
                raise ValueError(
                    f"{self.folder}: this run has another {what} ({there[key]}, now {self.facts[key]}); "
                    "name another output"
                )
        changed = changes_since(there["recipe"], self.recipe)
        if changed:
            raise ValueError(
                f"{self.folder}: this run has another recipe ({'; '.join(changed)}); name another output"
            )
        self.facts = there

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return bool(self.facts["finished"])

    def begin(self, model: PreTrainedModel, **facts: Any) -> None:
        """Write all that is known before the first update: ``run.json`` first, the rest again if need be."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tell(prepared=str(self.corpus.folder.resolve()), **facts)
        recipe = yaml.safe_dump(self.facts["recipe"], sort_keys=False, allow_unicode=True)
        write_file(self.folder / "recipe.yaml", recipe.encode())
        model.config.architectures = [type(model).__name__]
        write_file(self.folder / "config.json", model.config.to_json_string().encode())
        if model.can_generate():
            decoding = generation_config(model, self.recipe.decoding)
            write_file(self.folder / "generation_config.json", decoding.encode())
        self.corpus.processor.save_pretrained(self.folder)

    def tell(self, **facts: Any) -> None:
        """Add facts to ``run.json``."""
        self.facts |= facts
        write_file(self.folder / FACTS, (json.dumps(self.facts, indent=1) + "\n").encode())

    def export(self, weights: Mapping[str, Tensor]) -> None:
        """Make these the weights that ``from_pretrained`` loads."""
        whole = {name: tensor.detach().contiguous().cpu() for name, tensor in weights.items()}
        write_file(
            self.folder / "model.safetensors", safetensors.torch.save(whole, metadata={"format": "pt"})
        )


def fingerprint(corpus: PreparedCorpus) -> str:
    """A prepared corpus in sixteen letters: of its manifest, which has the hashes of its sources."""
    return hashlib.sha256((corpus.folder / MANIFEST).read_bytes()).hexdigest()[:16]


def changes_since(there: Any, here: Settings, key: str = "") -> list[str]:
    """What differs between a recipe that was written down and this one, in words.

    What a version before this one did not write has its default.
    """
    before = type(here).model_validate(there).model_dump(mode="json")
    return differences(before, here.model_dump(mode="json"), key)


def differences(there: Any, here: Any, key: str = "") -> list[str]:
    """What differs between two recipes, key by key, in words; what cannot change a result may differ."""
    if key in _HARMLESS:
        return []
    if isinstance(there, dict) and isinstance(here, dict):
        return [
            line
            for name in {**there, **here}
            for line in differences(there.get(name), here.get(name), f"{key}.{name}" if key else name)
        ]
    return [] if there == here else [f"{key} was {there!r}, now {here!r}"]


def generation_config(model: Any, decoding: DecodingRecipe) -> str:
    """How ``generate`` decodes by default, as JSON."""
    config = model.generation_config
    config.num_beams = decoding.beams
    config.length_penalty = decoding.length_penalty
    return config.to_json_string()


def peak_memory(device: torch.device) -> int:
    """The most bytes that were in use at a time: on the GPU, or by this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if os.name == "nt":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if platform.system() == "Darwin" else 1024)
