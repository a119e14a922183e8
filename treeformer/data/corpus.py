"""A prepared corpus: a folder of memory-mapped splits with all that a model needs to know about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from treeformer.configuration import Recipe
from treeformer.data.split import Split

MANIFEST = "manifest.json"


class SplitCounts(Recipe):
    """What a split holds, and what was left out of it."""

    examples: int
    leaves: int  #: of all examples together, as the next two
    nodes: int
    targets: int
    longest: tuple[int, int, int]  #: the most leaves, nodes and targets of one example
    unknown: float  #: share of leaves that are ``<unk>``
    dropped: dict[str, int]  #: examples left out, by reason


class Manifest(Recipe):
    """What a prepared corpus was made from and what it holds."""

    version: str  #: of treeformer
    recipe: dict[str, Any]  #: the ``data`` part of the recipe, complete
    sources: dict[str, str]  #: SHA-256 by file name
    kind: Literal["classification", "translation"]
    language: str  #: of the words that models read
    parser: str  #: who made the trees
    vocab_size: int
    node_vocab_size: int
    classes: tuple[str, ...]  #: names, none for translation
    splits: dict[str, SplitCounts]


class PreparedCorpus:
    """A folder that ``treeformer prepare`` wrote.

    ``corpus["train"]`` is a `Split`; `manifest` says what there is.
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

    def __getitem__(self, split: str) -> Split:
        if split not in self.manifest.splits:
            raise ValueError(f"split: expected one of {', '.join(self.manifest.splits)}, got {split!r}")
        if split not in self._splits:
            self._splits[split] = Split(self.folder / f"{split}.arrow")
        return self._splits[split]
