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
from pydantic import ConfigDict, Field, field_validator
from torch import Tensor

from treeformer.checksums import check_folder, replaced
from treeformer.configuration import Settings
from treeformer.data.corpus import MANIFEST, PreparedCorpus
from treeformer.inference.loading import FACTS
from treeformer.model_folder import CONFIG, WEIGHTS
from treeformer.models.pretrained import GENERATION, PreTrained
from treeformer.storage import write_file, write_json
from treeformer.training.checkpoints import tensor_file
from treeformer.training.experiment import VectorCounts
from treeformer.training.pretrained import check_encoder, processor_for
from treeformer.training.recipe import Recipe

# Keys that a resumed run may change: they have no effect on results.
_CHANGEABLE = ("training.workers", "training.log_every", "training.tensorboard")

_AGAIN = "run the same command again"


class RunFacts(Settings):
    """Content of ``run.json``. The facts from ``updates`` on are known when training is finished."""

    model_config = ConfigDict(extra="allow")

    seed: int
    corpus: str  #: fingerprint of the prepared corpus
    recipe: dict[str, Any]  #: resolved
    finished: bool = False
    prepared: str = ""  #: folder of the corpus
    parameters: int = 0
    processes: int = 1
    vectors: VectorCounts | None = None
    device: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    updates: int = 0
    metric: str = ""
    best: float | None = None  #: score on dev
    best_step: int = 0
    averaged: int = 0  #: number of checkpoints whose mean is the model; 0: the best checkpoint is
    seconds: float = 0.0
    cpu_seconds: float = 0.0  #: of processors, by the first process
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
        source = f"{corpus.folder / MANIFEST}: recipe"
        prepared_for = changes_since(corpus.manifest.recipe, recipe.data, "data", source)
        if prepared_for:
            raise ValueError(f"{corpus.folder}: prepared for another recipe ({'; '.join(prepared_for)})")
        check_encoder(recipe, corpus)
        facts = {"seed": seed, "corpus": fingerprint(corpus), "recipe": recipe.model_dump(mode="json")}
        self.facts = RunFacts.model_validate({**facts, "finished": False})
        if (folder / FACTS).exists():
            check_folder(folder, [FACTS])
            existing = RunFacts.load_json(folder / FACTS)
            self._check_same_experiment(existing)
            self.facts = existing
        elif folder.exists() and not all(path.name.startswith(".") for path in folder.iterdir()):
            raise ValueError(f"{folder}: contains other files; expected a run, an empty folder or a new name")

    def _check_same_experiment(self, existing: RunFacts) -> None:
        if existing.seed != self.facts.seed:
            difference = f"another seed ({existing.seed}, now {self.facts.seed})"
        elif existing.corpus != self.facts.corpus:
            difference = f"another prepared corpus ({existing.corpus}, now {self.facts.corpus})"
        elif changes := changes_since(existing.recipe, self.recipe, source=f"{self.folder / FACTS}: recipe"):
            difference = f"another recipe ({'; '.join(changes)})"
        else:
            return
        raise ValueError(f"{self.folder}: this run has {difference}; choose another output folder")

    def begin(self, model: PreTrained, **facts: Any) -> None:
        """Write everything that is known before the first update; a resumed run writes it again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._place = _identity(self.folder)
        self.update(prepared=str(self.corpus.folder.resolve()), **facts)
        recipe = yaml.safe_dump(self.facts.recipe, sort_keys=False, allow_unicode=True)
        write_file(self.folder / "recipe.yaml", recipe.encode())
        model.config.architectures = [type(model).__name__]
        with replaced(self.folder, (CONFIG, GENERATION)):
            write_file(self.folder / CONFIG, model.config.to_json_string().encode())
            if model.can_generate():
                decoding: Any = model.generation_config
                decoding.num_beams = self.recipe.decoding.beams
                decoding.length_penalty = self.recipe.decoding.length_penalty
                write_file(self.folder / GENERATION, decoding.to_json_string().encode())
        processor = processor_for(self.recipe, self.corpus)
        processor.for_model(phrases_taught=self._phrases_taught).save_pretrained(self.folder)

    @property
    def _phrases_taught(self) -> bool:
        """Whether the model learns from labels of phrases."""
        return self.recipe.training.targets == "all" and self.corpus["train"][0].node_targets is not None

    def check_folder(self) -> None:
        """Raise ``ValueError`` if the folder was deleted, moved or replaced since `begin`."""
        if self._place != _identity(self.folder) or not (self.folder / FACTS).is_file():
            raise ValueError(
                f"{self.folder}: deleted, moved or replaced during the training, which ends here"
            )

    def check_model(self) -> None:
        """Raise ``ValueError`` if a file of the exported model is missing or has changed."""
        if not (self.folder / WEIGHTS).is_file():
            raise ValueError(f"{self.folder / WEIGHTS}: deleted during the training; {_AGAIN}")
        try:
            check_folder(self.folder)
        except ValueError as error:
            raise ValueError(f"{error}; {_AGAIN}") from None

    def update(self, **facts: Any) -> None:
        """Add facts to ``run.json``."""
        known = self.facts.model_dump(exclude_unset=True)
        self.facts = RunFacts.model_validate({**known, **facts})
        with replaced(self.folder, [FACTS]):
            write_json(self.folder / FACTS, self.facts.model_dump(mode="json", exclude_unset=True))

    def export(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights that ``from_pretrained`` loads."""
        self.check_folder()
        with replaced(self.folder, [WEIGHTS]):
            write_file(self.folder / WEIGHTS, tensor_file(weights, {"format": "pt"}))


def _identity(folder: Path) -> tuple[int, int] | None:
    """What a folder keeps when its content changes, None if there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def fingerprint(corpus: PreparedCorpus) -> str:
    """Sixteen letters that identify a prepared corpus: the hash of its manifest.

    With an encoder it is that of the manifest without stored states, which can be added later.
    """
    if corpus.manifest.encoder is None:
        return hashlib.sha256((corpus.folder / MANIFEST).read_bytes()).hexdigest()[:16]
    return corpus.manifest.without_states.digest[:16]


def changes_since(before: Any, now: Settings, key: str = "", source: str = "recipe") -> list[str]:
    """Differences between a recipe read from JSON and a recipe, as text; empty if it is the same.

    Keys that the version which wrote the JSON did not know have their defaults. ``source`` is the file, for
    errors.
    """
    complete = type(now).from_content(before, source).model_dump(mode="json")
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
