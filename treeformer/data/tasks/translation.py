"""Translation: trees over the words of the source, tokens of the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from treeformer.data.sample import BadLine, Sample, location, text_lines, tree_lines
from treeformer.data.tasks.task import SplitFiles, Task, TaskKind, ToParse
from treeformer.data.tokens import Tokens, detokenize, tokenize, unescape
from treeformer.parsing.contractions import contract
from treeformer.trees.tree import Unary


class ParallelFiles(SplitFiles):
    """Two files whose lines belong together."""

    target: str = Field(description="translations, one per line")
    first: int | None = Field(default=None, ge=1, description="use only the first lines, this many")

    def texts(self) -> dict[str, str]:
        return {"file": self.file, "target": self.target}


class TranslationTask(Task):
    """A pair of languages. ``language`` is that of the source."""

    name: Literal["translation"]
    target_language: str = Field(description="language of the target")
    source_tokens: Tokens | None = Field(
        default=None, description="given: source lines are tokens; by default the parser tokenises"
    )
    target_tokens: Tokens = Field(default="moses", description="given: target lines are tokens")
    splits: Mapping[str, ParallelFiles] = Field(description="files of each split; train is required")

    kind: ClassVar[TaskKind] = "translation"

    @model_validator(mode="after")
    def _source_has_a_tokenizer(self) -> TranslationTask:
        if self.source_tokens == "moses":
            raise ValueError("source_tokens: expected given, or nothing for tokens of the parser")
        return self

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        given = self.source_tokens == "given"
        lines = _nonempty_lines(files["file"], "empty source")
        if given:
            lines = (line if isinstance(line, BadLine) else unescape(line) for line in lines)
        return ToParse(lines, tokenized=given, one_per_line=False)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        first = split.first if isinstance(split, ParallelFiles) else None
        return {
            "file": islice(_nonempty_lines(files["file"], "empty source"), first),
            "target": islice(_nonempty_lines(files["target"], "empty target"), first),
            "trees": islice(tree_lines(files["trees"], unary), first),
        }

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine:
        _, target, trees = values
        tokens = tokenize(target, self.target_tokens, self.target_language)
        if not tokens:
            return BadLine(location(files["target"], number), "empty target", "expected tokens, found none")
        given = self.target_tokens == "given"
        text = detokenize(tokens, self.target_language) if given else target.strip()
        if self.language == "fr":  # CoreNLP's trees have *de le* where the text has *du*
            trees = [contract(tree) for tree in trees]
        return Sample(trees, target_text=text, target_tokens=tokens)


def _nonempty_lines(path: Path, reason: str) -> Iterator[str | BadLine]:
    """The lines of a file; an empty line is bad."""
    for number, line in enumerate(text_lines(path), start=1):
        empty = BadLine(location(path, number), reason, "expected text, found an empty line")
        yield line if line.strip() else empty
