"""What every task says: its files, what of them a parser must read, and the samples they hold."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from treeformer.configuration import Settings
from treeformer.data.sample import Bad, Sample, find_file
from treeformer.trees.tree import Unary

TaskKind = Literal["classification", "translation"]
TRAIN, DEV = "train", "dev"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Part(Settings):
    """The files of one split, by their path below the data."""

    file: str = Field(description="the examples, one a line")
    trees: str | None = Field(
        default=None, description="a line of trees for each example; where it is missing a parser makes it"
    )

    def texts(self) -> dict[str, str]:
        """The files that must be there, by what they hold."""
        return {"file": self.file}

    def find(self, data: Path) -> dict[str, Path]:
        """Where the files are; ``trees`` only if that file is there."""
        found = {}
        for role, name in self.texts().items():
            path = find_file(data, name)
            if path is None:
                raise ValueError(f"{data}: expected a file {name} there, which the recipe names")
            found[role] = path
        trees = None if self.trees is None else find_file(data, self.trees)
        return found if trees is None else {**found, "trees": trees}


class ToParse(NamedTuple):
    """Lines for a parser, and how to read them."""

    lines: Iterable[str]
    tokenized: bool
    one_per_line: bool


class Task(Settings):
    """A task, as its recipe describes it."""

    language: str = Field(default="en", description="of what models read")
    splits: Mapping[str, Part] = Field(description="the files of each split; train must be there")

    kind: ClassVar[TaskKind] = "classification"
    documents: ClassVar[bool] = False  #: every example gets a root DOC, also one of a single sentence
    binary: ClassVar[bool] = False  #: trees are binary, and parses of new text are made so

    @field_validator("splits")
    @classmethod
    def _has_train(cls, splits: Mapping[str, Part]) -> Mapping[str, Part]:
        if TRAIN not in splits:
            raise ValueError(f"expected a split {TRAIN}, got {', '.join(splits) or 'none'}")
        wrong = [name for name in splits if not _NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"expected names of letters, digits, '.', '_' and '-', got {wrong[0]!r}")
        return splits

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of the classes, None where the training data tells; empty for translation."""
        return None

    @property
    def halves(self) -> bool:
        """Whether scores ask only which half of the classes is likelier, those above or below the middle."""
        return False

    @property
    def held_out(self) -> int | None:
        """Every so many examples of train are dev instead, None if dev has files of its own."""
        return None

    @property
    def trees_inside(self) -> bool:
        """Whether the trees stand in the files of examples, so that there is nothing to parse."""
        return False

    @abstractmethod
    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        """What a parser must read to make the trees of a split."""

    @abstractmethod
    def samples(self, part: Part, files: Mapping[str, Path], unary: Unary) -> Iterator[Sample | Bad]:
        """What the files of a split hold, line by line."""
