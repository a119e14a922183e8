"""Translation: trees over the words of the source, tokens of the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from treeformer.data.sample import Bad, Sample, place, text_lines, together, tree_lines
from treeformer.data.tasks.task import Part, Task, TaskKind, ToParse
from treeformer.data.tokens import Tokens, detokenize, tokenize, unescape
from treeformer.parsing.contractions import contract
from treeformer.trees import Tree
from treeformer.trees.tree import Unary


class ParallelPart(Part):
    """Two files whose lines belong together."""

    target: str = Field(description="translations, one a line")
    first: int | None = Field(default=None, ge=1, description="use only so many lines, the first ones")

    def texts(self) -> dict[str, str]:
        return {"file": self.file, "target": self.target}


class TranslationTask(Task):
    """A pair of languages. ``language`` is that of the source."""

    name: Literal["translation"]
    target_language: str = Field(description="for the tokens of the target")
    source_tokens: Tokens | None = Field(
        default=None, description="given: source lines are tokens; else the parser makes tokens of text"
    )
    target_tokens: Tokens = Field(default="moses", description="given: target lines are tokens already")
    splits: Mapping[str, ParallelPart] = Field(description="the files of each split; train must be there")

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
        lines = text_lines(files["file"])
        return ToParse(map(unescape, lines) if given else lines, tokenized=given, one_per_line=False)

    def samples(self, part: Part, files: Mapping[str, Path], unary: Unary) -> Iterator[Sample | Bad]:
        first = part.first if isinstance(part, ParallelPart) else None
        sides: dict[str, Iterator[Any]] = {
            "file": islice(text_lines(files["file"]), first),
            "target": islice(text_lines(files["target"]), first),
            "trees": islice(tree_lines(files["trees"], unary), first),
        }
        for number, row in enumerate(together(files, sides), start=1):
            if isinstance(row, Bad):
                yield row
                continue
            source, target, trees = row
            tokens = tokenize(target, self.target_tokens, self.target_language)
            if not source.strip():
                yield Bad(place(files["file"], number), "empty source", "expected text, found an empty line")
            elif not tokens:
                yield Bad(
                    place(files["target"], number), "empty target", "expected text, found an empty line"
                )
            elif isinstance(trees, Bad):
                yield trees
            else:
                given = self.target_tokens == "given"
                raw = detokenize(tokens, self.target_language) if given else target.strip()
                yield Sample(self._as_written(trees), target_text=raw, target_tokens=tokens)

    def _as_written(self, trees: list[Tree]) -> list[Tree]:
        """The trees over the words of the text: CoreNLP's French ones have *de le* for *du*."""
        return [contract(tree) for tree in trees] if self.language == "fr" else trees
