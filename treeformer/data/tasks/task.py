"""``Task``: the files of a corpus, the text that must be parsed, and the samples in them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from treeformer.configuration import Settings
from treeformer.data.sample import BadLine, Sample, aligned_lines, find_file
from treeformer.trees.tree import Unary

TaskKind = Literal["classification", "translation"]
TRAIN, DEV = "train", "dev"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class SplitFiles(Settings):
    """The files of one split, as paths below the data folder."""

    file: str = Field(description="file of examples, one per line")
    trees: str | None = Field(
        default=None,
        description="file with a tree for each example, in brackets or CoNLL-U; parsed if missing",
    )

    def texts(self) -> dict[str, str]:
        """The files that must exist, by role."""
        return {"file": self.file}

    def find(self, data: Path) -> dict[str, Path]:
        """The paths of the files by role; ``trees`` only if that file exists."""
        paths = {}
        for role, name in self.texts().items():
            path = find_file(data, name)
            if path is None:
                raise ValueError(f"{data}: expected a file {name} there, as named in the recipe")
            paths[role] = path
        trees = None if self.trees is None else find_file(data, self.trees)
        return paths if trees is None else {**paths, "trees": trees}


class ToParse(NamedTuple):
    """Lines of text to parse, or why there is none; see `LineParser` for the options."""

    lines: Iterable[str | BadLine]
    tokenized: bool
    one_per_line: bool


class Task(Settings):
    """A task: the ``task`` part of a recipe, and how its files become samples."""

    language: str = Field(default="en", description="language of the text that models read")
    splits: Mapping[str, SplitFiles] = Field(description="files of each split; train is required")

    kind: ClassVar[TaskKind] = "classification"
    documents: ClassVar[bool] = False  #: every example gets a root DOC, single sentences included
    binary: ClassVar[bool] = False  #: training trees are binary, so parses of new text are binarised
    generated: ClassVar[bool] = False  #: there are no files, so no data folder is needed

    @field_validator("splits")
    @classmethod
    def _has_train(cls, splits: Mapping[str, SplitFiles]) -> Mapping[str, SplitFiles]:
        if TRAIN not in splits:
            raise ValueError(f"expected a split {TRAIN}, got {', '.join(splits) or 'none'}")
        wrong = [name for name in splits if not _NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"expected names of letters, digits, '.', '_' and '-', got {wrong[0]!r}")
        return splits

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of the classes; None if train decides, empty for translation."""
        return None

    @property
    def halves(self) -> bool:
        """Whether accuracy asks only which half of the classes is likelier, as for SST-2."""
        return False

    @property
    def held_out(self) -> int | None:
        """Every n-th example of train goes to dev; None if dev has files of its own."""
        return None

    @property
    def trees_inside(self) -> bool:
        """Whether the files of examples contain the trees, so that nothing is parsed."""
        return False

    @abstractmethod
    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        """The text of a split that must be parsed."""

    @abstractmethod
    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        """The values of each line of the files of a split, by role; `BadLine` for a bad line."""

    @abstractmethod
    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine | None:
        """The sample of a line from its ``values``, one of each column; None to skip the line."""

    def samples(
        self, split: SplitFiles, files: Mapping[str, Path], unary: Unary, *, parsed: bool = False
    ) -> Iterator[Sample | BadLine]:
        """The sample of each line of a split, or why there is none.

        ``parsed``: the file of trees was parsed from `to_parse`, so errors name the line of the text.
        """
        lines = aligned_lines(files, self.columns(split, files, unary))
        for text, line in zip(self._texts(files) if parsed else repeat(""), lines, strict=False):
            bad = text if isinstance(text, BadLine) else line.bad
            sample = bad or self.sample(files, line.number, *line.values)
            if parsed and isinstance(sample, BadLine) and sample.location.startswith(f"{files['trees']}:"):
                problem = "expected a text with words, the parser found none"
                if sample.reason != "no tree":
                    problem = f"the parse of this text cannot be used: {sample.problem}"
                sample = BadLine(line.location, sample.reason, problem)
            if sample is not None:
                yield sample

    def checked_texts(self, split: SplitFiles, files: Mapping[str, Path]) -> Iterator[BadLine | None]:
        """What is wrong with each line of a split that has not been parsed yet; None for good lines."""
        columns = self.columns(split, {**files, "trees": Path("trees")}, "collapse")
        columns.pop("trees", None)
        for text, line in zip(self._texts(files), aligned_lines(files, columns), strict=False):
            yield text if isinstance(text, BadLine) else line.bad

    def _texts(self, files: Mapping[str, Path]) -> Iterator[str | BadLine]:
        """The lines to parse; columns may end earlier and never later."""
        return chain(self.to_parse(files).lines, repeat(""))


class GeneratedTask(Task):
    """A task without files: its samples, with their trees, are generated from the keys of each split."""

    splits: Mapping[str, Any] = Field(description="what to generate for each split; train is required")

    generated: ClassVar[bool] = True

    @property
    def trees_inside(self) -> bool:
        return True

    @property
    def parsed_by(self) -> str | None:
        """What parsed the trees, and from which source; None if they are generated, too."""
        return None

    @abstractmethod
    def generate(self, split: Any) -> Iterator[Sample]:
        """The samples of a split, the same each time."""

    def samples(
        self, split: Any, files: Mapping[str, Path], unary: Unary, *, parsed: bool = False
    ) -> Iterator[Sample | BadLine]:
        yield from self.generate(split)

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        return ToParse((), tokenized=True, one_per_line=True)

    def columns(self, split: Any, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        return {"samples": self.generate(split)}

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample:
        (sample,) = values
        return sample
