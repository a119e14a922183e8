"""A prepared corpus: a folder of memory-mapped splits, their vocabulary and a manifest."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from treeformer.configuration import Settings
from treeformer.data.processor import ProcessorSettings, TreeProcessor
from treeformer.data.recipe import DataRecipe
from treeformer.data.split import Split
from treeformer.data.tasks.task import TaskKind
from treeformer.data.tasks.translation import TranslationTask
from treeformer.data.vocabulary import load_vocabulary

MANIFEST = "manifest.json"
LABELS = "labels.json"


class SplitCounts(Settings):
    """Counts of one split."""

    examples: int
    leaves: int  #: sum over all examples, like nodes and targets
    nodes: int
    targets: int
    longest: tuple[int, int, int]  #: largest number of leaves, nodes and targets of one example
    unknown: float  #: share of ``<unk>`` among the leaves
    dropped: dict[str, int]  #: skipped lines, by reason


class Manifest(Settings):
    """Origin and content of a prepared corpus: ``manifest.json``."""

    version: str  #: version of treeformer
    recipe: dict[str, Any]  #: the ``data`` part of the recipe, complete
    sources: dict[str, str]  #: SHA-256 by file name
    kind: TaskKind
    language: str  #: language of the text that models read
    parser: str  #: name and version of the parser
    vocab_size: int
    node_vocab_size: int
    classes: tuple[str, ...]  #: names; empty for translation
    halves: bool  #: accuracy asks only which half of the classes is likelier, as for SST-2
    splits: dict[str, SplitCounts]


class PreparedCorpus:
    """A folder that ``treeformer prepare`` wrote.

    ``corpus["train"]`` is a `Split`; `manifest` lists the splits.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._splits: dict[str, Split] = {}

    @classmethod
    def open(cls, folder: str | Path) -> PreparedCorpus:
        """The corpus in this folder; ``ValueError`` if there is none."""
        path = Path(folder) / MANIFEST
        try:
            manifest = Manifest.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise ValueError(
                f"{folder}: not a prepared corpus, no {MANIFEST}: see treeformer prepare"
            ) from None
        except ValidationError as error:
            raise ValueError(f"{path}: written by another version; run treeformer prepare again") from error
        return cls(Path(folder), manifest)

    @cached_property
    def processor(self) -> TreeProcessor:
        """The processor that made the examples."""
        recipe = DataRecipe.model_validate(self.manifest.recipe)
        labels = json.loads((self.folder / LABELS).read_text(encoding="utf-8"))
        settings = settings_of(recipe, tuple(labels["nodes"]), tuple(labels["classes"]))
        return TreeProcessor(load_vocabulary(self.folder), settings)

    def __getitem__(self, split: str) -> Split:
        if split not in self.manifest.splits:
            raise ValueError(f"split: expected one of {', '.join(self.manifest.splits)}, got {split!r}")
        if split not in self._splits:
            self._splits[split] = Split(self.folder / f"{split}.arrow")
        return self._splits[split]


def settings_of(recipe: DataRecipe, labels: tuple[str, ...], classes: tuple[str, ...]) -> ProcessorSettings:
    """The settings of the processor of a recipe."""
    task = recipe.task
    return ProcessorSettings(
        kind=task.kind,
        language=task.language,
        parser=recipe.parser,
        trees=recipe.trees,
        unary=recipe.unary,
        documents=task.documents,
        binary=task.binary,
        tokenized=isinstance(task, TranslationTask) and task.source_tokens == "given",
        labels=labels,
        classes=classes,
        halves=task.halves,
        target_language=task.target_language if isinstance(task, TranslationTask) else None,
        target_tokens=task.target_tokens if isinstance(task, TranslationTask) else None,
    )
