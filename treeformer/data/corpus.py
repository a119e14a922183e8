"""A prepared corpus: a folder of memory-mapped splits, their vocabulary and a manifest."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from treeformer.configuration import Settings, read_json
from treeformer.data.encoder import EncoderFacts
from treeformer.data.processor import NodeLabels, ProcessorSettings, TreeProcessor
from treeformer.data.recipe import DataRecipe
from treeformer.data.split import Split
from treeformer.data.tasks.task import TaskKind
from treeformer.data.tasks.translation import TranslationTask
from treeformer.data.vocabulary import TOKENIZER, load_vocabulary
from treeformer.storage import check_files, write_json

MANIFEST = "manifest.json"
LABELS = "labels.json"
FORMAT = 3  #: of the manifest of a corpus with an encoder
_PLAIN_FORMAT = 2  # of one without; version 0.1.0 wrote format 1, which has no checksums
_DIGEST = "digest"  # key of the SHA-256 of the rest of the manifest


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
    overrides: tuple[str, ...] = ()  #: changes to the ``data`` part of the YAML file, as for ``--set``
    kind: TaskKind
    language: str  #: language of the text that models read
    parser: str  #: name and version of the parser
    vocab_size: int
    node_vocab_size: int
    classes: tuple[str, ...]  #: names; empty for translation
    halves: bool  #: accuracy asks only which half of the classes is likelier, as for SST-2
    splits: dict[str, SplitCounts]
    format: int = 1
    checksums: dict[str, str] = Field(default_factory=dict)  #: SHA-256 by name of file; none in format 1
    encoder: EncoderFacts | None = None  #: whose pieces the examples have
    states: bool = False  #: the states of the encoder are stored

    @classmethod
    def load_json(cls, path: Path) -> Self:
        """Read ``manifest.json``; a newer format and a damaged file are refused."""
        content = read_json(path)
        number, digest = content.get("format", 1), content.pop(_DIGEST, None)
        if isinstance(number, int) and number > FORMAT:
            raise ValueError(
                f"{path}: written by a newer version of treeformer (format {number}, known up to {FORMAT}); "
                "update treeformer, or delete the folder and prepare it again"
            )
        if digest is not None and digest != _digest(content):
            raise ValueError(
                f"{path}: damaged or changed, its content does not match its {_DIGEST}; "
                "restore it, or delete the folder and prepare it again"
            )
        return cls.from_content(content, str(path))

    @model_validator(mode="after")
    def _all_files_have_checksums(self) -> Self:
        if self.format >= _PLAIN_FORMAT and self.checksums.keys() != self.files - {MANIFEST}:
            raise ValueError("checksums: expected one of each file of the corpus")
        return self

    def save(self, folder: Path) -> None:
        """Write ``manifest.json`` with a digest of its content."""
        write_json(folder / MANIFEST, {**self._content, _DIGEST: self.digest})

    @property
    def digest(self) -> str:
        """The SHA-256 of what `save` writes."""
        return _digest(self._content)

    @property
    def _content(self) -> dict[str, Any]:
        plain = self.encoder is None
        content = self.model_dump(mode="json", exclude={"encoder", "states"} if plain else None)
        return {**content, "format": _PLAIN_FORMAT if plain else FORMAT}

    @property
    def without_states(self) -> Manifest:
        """The manifest of this corpus before states of its encoder were stored."""
        sums = {name: one for name, one in self.checksums.items() if name not in self.states_files}
        return self.model_copy(update={"states": False, "checksums": sums})

    @property
    def files(self) -> set[str]:
        """The names of all files of the corpus."""
        return {*self.files_without_states, *(self.states_files if self.states else ())}

    @property
    def files_without_states(self) -> set[str]:
        """The names of the files that every corpus has."""
        return {MANIFEST, LABELS, TOKENIZER, *(f"{split}.arrow" for split in self.splits)}

    @property
    def states_files(self) -> set[str]:
        """The names of the files of stored states, whether they are there or not."""
        return {states_name(split) for split in self.splits}


class Labels(Settings):
    """Names of the labels of nodes and of the classes, in the order of their ids: ``labels.json``."""

    nodes: NodeLabels
    classes: tuple[str, ...]


def states_name(split: str) -> str:
    """The name of the file with the stored states of a split."""
    return f"{split}.states.npy"


class PreparedCorpus:
    """A folder that ``treeformer prepare`` wrote.

    ``corpus["train"]`` is a `Split`; `manifest` lists the splits.

    Args:
        folder: the folder.
        manifest: its manifest.
        states: examples have the stored states of the encoder instead of its pieces.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, states: bool = False) -> None:
        self.folder = folder
        self.manifest = manifest
        self.states = states
        self._splits: dict[str, Split] = {}

    @classmethod
    def open(cls, folder: str | Path) -> PreparedCorpus:
        """The corpus in this folder; ``ValueError`` if there is none."""
        path = Path(folder) / MANIFEST
        if not path.is_file():
            raise ValueError(f"{folder}: not a prepared corpus, no {MANIFEST}: see treeformer prepare")
        return cls(Path(folder), Manifest.load_json(path))

    @cached_property
    def processor(self) -> TreeProcessor:
        """The processor that made the examples."""
        self._check_file(LABELS)
        self._check_file(TOKENIZER)
        manifest = self.manifest
        recipe = DataRecipe.from_content(manifest.recipe, f"{self.folder / MANIFEST}: recipe")
        labels = Labels.load_json(self.folder / LABELS)
        vocabulary = load_vocabulary(self.folder)
        sizes = (vocabulary.rows, len(labels.nodes), labels.classes)
        if sizes != (manifest.vocab_size, manifest.node_vocab_size, manifest.classes):
            raise ValueError(
                f"{self.folder}: {TOKENIZER}, {LABELS} and {MANIFEST} do not belong together; "
                "run treeformer prepare again"
            )
        settings = settings_of(recipe, labels.nodes, labels.classes, manifest.encoder)
        return TreeProcessor(vocabulary, settings)

    def __getitem__(self, split: str) -> Split:
        if split not in self.manifest.splits:
            raise ValueError(f"split: expected one of {', '.join(self.manifest.splits)}, got {split!r}")
        if split not in self._splits:
            name = f"{split}.arrow"
            if not (self.folder / name).is_file():
                raise ValueError(f"{self.folder / name}: missing, but listed in {MANIFEST}")
            self._check_file(name)
            states = None
            if self.states:
                self._check_file(states_name(split))
                states = self.folder / states_name(split)
            examples = Split(self.folder / name, states)
            expected = self.manifest.splits[split].examples
            if len(examples) != expected:
                raise ValueError(f"{self.folder / name}: expected {expected} examples, found {len(examples)}")
            self._splits[split] = examples
        return self._splits[split]

    def check(self) -> None:
        """Raise ``ValueError`` if a file of the corpus is missing, damaged or of another corpus."""
        if self.processor.settings.kind != self.manifest.kind:
            raise ValueError(f"{self.folder / MANIFEST}: kind: expected {self.processor.settings.kind}")
        for split in self.manifest.splits:
            self[split]
        if self.manifest.states and not self.states:
            self.with_states().check()

    def with_states(self) -> PreparedCorpus:
        """This corpus with stored states instead of pieces; ``ValueError`` if there are none."""
        if not self.manifest.states:
            raise ValueError(f"{self.folder}: no states of an encoder are stored, see treeformer prepare")
        return PreparedCorpus(self.folder, self.manifest, states=True)

    def _check_file(self, name: str) -> None:
        """Raise ``ValueError`` if a file differs from its checksum; format 1 has none."""
        if name in self.manifest.checksums:
            check_files(self.folder, {name: self.manifest.checksums[name]}, MANIFEST)


def _digest(content: dict[str, Any]) -> str:
    """The SHA-256 of the content of a manifest."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def settings_of(
    recipe: DataRecipe,
    labels: tuple[str, ...],
    classes: tuple[str, ...],
    encoder: EncoderFacts | None = None,
) -> ProcessorSettings:
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
        encoder=encoder,
    )
