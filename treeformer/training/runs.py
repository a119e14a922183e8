"""The folder of a run: recipe, facts about the training, and the trained model."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import yaml
from pydantic import BaseModel, field_validator
from torch import Tensor

from treeformer.configuration import Settings
from treeformer.data.corpus import MANIFEST, PreparedCorpus
from treeformer.inference.loading import FACTS, run_facts
from treeformer.models.pretrained import PreTrained
from treeformer.storage import write_file, write_json
from treeformer.training.checkpoints import tensor_file
from treeformer.training.experiment import VectorCounts
from treeformer.training.recipe import Recipe

# Keys that a resumed run may change: they have no effect on results.
_CHANGEABLE = ("training.workers", "training.log_every", "training.tensorboard")


class RunFacts(BaseModel, extra="allow"):
    """Content of ``run.json``. The facts from ``updates`` on are known when training is finished."""

    seed: int
    corpus: str  #: fingerprint of the prepared corpus
    recipe: dict[str, Any]  #: resolved
    finished: bool = False
    prepared: str = ""  #: folder of the corpus
    parameters: int = 0
    processes: int = 1
    vectors: VectorCounts | None = None
    device: str = ""
    versions: dict[str, str] = {}
    updates: int = 0
    metric: str = ""
    best: float | None = None  #: score on dev
    best_step: int = 0
    averaged: int = 0  #: number of checkpoints whose mean is the model; 0: the best checkpoint is
    seconds: float = 0.0
    peak_memory: int = 0  #: in bytes

    @field_validator("vectors", mode="before")
    @classmethod
    def _of_version_0_1(cls, vectors: Any) -> Any:
        """Version 0.1.0 wrote ``found`` for ``with_vector``."""
        if isinstance(vectors, dict) and "found" in vectors:
            return {"with_vector": vectors["found"], "words": vectors["words"]}
        return vectors


class Run:
    """The folder of one training. An existing folder is resumed if it is of the same experiment.

    Args:
        folder: the run folder; it need not exist.
        recipe: the experiment, resolved.
        corpus: the prepared corpus.
        seed: seed of weights, order and dropout.
    """

    def __init__(self, folder: Path, recipe: Recipe, corpus: PreparedCorpus, seed: int) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.recipe = recipe
        self.corpus = corpus
        prepared_for = changes_since(corpus.manifest.recipe, recipe.data, "data")
        if prepared_for:
            raise ValueError(f"{corpus.folder}: prepared for another recipe ({'; '.join(prepared_for)})")
        facts = {"seed": seed, "corpus": fingerprint(corpus), "recipe": recipe.model_dump(mode="json")}
        self.facts = RunFacts.model_validate({**facts, "finished": False})
        if (folder / FACTS).exists():
            existing = RunFacts.model_validate(run_facts(folder))
            self._check_same_experiment(existing)
            self.facts = existing
        elif folder.exists() and not all(path.name.startswith(".") for path in folder.iterdir()):
            raise ValueError(f"{folder}: contains other files; expected a run, an empty folder or a new name")

    def _check_same_experiment(self, existing: RunFacts) -> None:
        if existing.seed != self.facts.seed:
            difference = f"another seed ({existing.seed}, now {self.facts.seed})"
        elif existing.corpus != self.facts.corpus:
            difference = f"another prepared corpus ({existing.corpus}, now {self.facts.corpus})"
        elif changes := changes_since(existing.recipe, self.recipe):
            difference = f"another recipe ({'; '.join(changes)})"
        else:
            return
        raise ValueError(f"{self.folder}: this run has {difference}; choose another output folder")

    def begin(self, model: PreTrained, **facts: Any) -> None:
        """Write everything that is known before the first update; a resumed run writes it again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.update(prepared=str(self.corpus.folder.resolve()), **facts)
        recipe = yaml.safe_dump(self.facts.recipe, sort_keys=False, allow_unicode=True)
        write_file(self.folder / "recipe.yaml", recipe.encode())
        model.config.architectures = [type(model).__name__]
        write_file(self.folder / "config.json", model.config.to_json_string().encode())
        if model.can_generate():
            decoding: Any = model.generation_config
            decoding.num_beams = self.recipe.decoding.beams
            decoding.length_penalty = self.recipe.decoding.length_penalty
            write_file(self.folder / "generation_config.json", decoding.to_json_string().encode())
        self.corpus.processor.save_pretrained(self.folder)

    def update(self, **facts: Any) -> None:
        """Add facts to ``run.json``."""
        known = self.facts.model_dump(exclude_unset=True)
        self.facts = RunFacts.model_validate({**known, **facts})
        write_json(self.folder / FACTS, self.facts.model_dump(mode="json", exclude_unset=True))

    def export(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights that ``from_pretrained`` loads."""
        write_file(self.folder / "model.safetensors", tensor_file(weights, {"format": "pt"}))


def fingerprint(corpus: PreparedCorpus) -> str:
    """Sixteen letters that identify a prepared corpus: the hash of its manifest."""
    return hashlib.sha256((corpus.folder / MANIFEST).read_bytes()).hexdigest()[:16]


def changes_since(before: Any, now: Settings, key: str = "") -> list[str]:
    """Differences between a recipe read from JSON and a recipe, as text; empty if it is the same.

    Keys that the version which wrote the JSON did not know have their defaults.
    """
    complete = type(now).model_validate(before).model_dump(mode="json")
    return _differences(complete, now.model_dump(mode="json"), key)


def _differences(before: Any, now: Any, key: str) -> list[str]:
    if key in _CHANGEABLE or before == now:
        return []
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [f"{key} was {before!r}, now {now!r}"]
    differences = []
    for name in {**before, **now}:
        inner = f"{key}.{name}" if key else name
        differences += _differences(before.get(name), now.get(name), inner)
    return differences


def peak_memory(device: torch.device) -> int:
    """Largest number of bytes in use so far: on the GPU, or by this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if os.name == "nt":
        return 0
    import resource

    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
