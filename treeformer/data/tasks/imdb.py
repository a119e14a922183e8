"""IMDB: film reviews, each a document of several sentences, positive or negative."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from treeformer.data.sample import BadLine, Sample, location, text_lines, tree_lines
from treeformer.data.tasks.task import SplitFiles, Task, ToParse
from treeformer.data.tokens import one_line
from treeformer.trees.tree import Unary

_CLASSES = ("negative", "positive")


class ImdbTask(Task):
    """Sentiment of documents: JSON lines with ``text`` and ``label`` 0 or 1."""

    name: Literal["imdb"]
    hold_out: int | None = Field(
        default=20, ge=2, description="every n-th review of train goes to dev, which has no file"
    )

    documents: ClassVar[bool] = True

    @property
    def class_names(self) -> tuple[str, ...]:
        return _CLASSES

    @property
    def held_out(self) -> int | None:
        return self.hold_out

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        """Reviews as text; their line breaks are marked ``<br />``."""
        texts = (str(json.loads(line)["text"]) for line in text_lines(files["file"]))
        lines = (one_line(text.replace("<br />", " ")) for text in texts)
        return ToParse(lines, tokenized=False, one_per_line=False)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        return {"file": text_lines(files["file"]), "trees": tree_lines(files["trees"], unary)}

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine:
        line, trees = values
        where = location(files["file"], number)
        try:
            label = json.loads(line)["label"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            return BadLine(where, "no review", f"expected a JSON object with text and label: {error}")
        if label not in (0, 1):
            return BadLine(where, "no label", f"expected a label 0 or 1, found {label!r}")
        return Sample(trees, label=_CLASSES[label])
