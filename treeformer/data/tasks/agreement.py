"""Subject-verb agreement: is the verb that follows these words singular or plural?

A model reads the words before the verb and a parse of these words. Nothing that follows is used: not the
verb, no tree over it, and no word count that includes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from treeformer.data.sample import BadLine, Sample, location, text_lines, tree_lines
from treeformer.data.tasks.task import SplitFiles, Task, ToParse
from treeformer.trees.tree import Unary

_CLASSES = ("VBZ", "VBP")


class AgreementFiles(SplitFiles):
    """A file of prefixes: JSON lines with ``tokens, verb, label, n_attractors``, or ``label<TAB>prefix``."""

    attractors: int = Field(default=0, description="number of attractors, where the file does not name it")


class _Prefix(NamedTuple):
    words: tuple[str, ...]
    label: str
    attractors: int


class AgreementTask(Task):
    """Singular (VBZ) or plural (VBP); scores are broken down by the number of attractors."""

    name: Literal["agreement"]
    splits: Mapping[str, AgreementFiles] = Field(description="files of each split; train is required")

    @property
    def class_names(self) -> tuple[str, ...]:
        return _CLASSES

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        prefixes = _prefixes(files["file"], 0)
        lines = (prefix if isinstance(prefix, BadLine) else " ".join(prefix.words) for prefix in prefixes)
        return ToParse(lines, tokenized=True, one_per_line=True)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        attractors = split.attractors if isinstance(split, AgreementFiles) else 0
        return {"file": _prefixes(files["file"], attractors), "trees": tree_lines(files["trees"], unary)}

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine:
        prefix, trees = values
        if tuple(word for tree in trees for word in tree.words) == prefix.words:
            return Sample(trees, label=prefix.label, group=prefix.attractors)
        problem = "expected a tree over exactly the words before the verb"
        return BadLine(location(files["trees"], number), "other words", problem)


def _prefixes(path: Path, attractors: int) -> Iterator[_Prefix | BadLine]:
    """The examples of a file, line by line."""
    read = _from_json if ".jsonl" in path.suffixes else _from_columns
    for number, line in enumerate(text_lines(path), start=1):
        try:
            prefix = read(line, attractors)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            problem = f"expected words, a verb and its label: {error}"
            yield BadLine(location(path, number), "no example", problem)
            continue
        if not prefix.words:
            yield BadLine(location(path, number), "nothing before the verb", "expected words before the verb")
        elif prefix.label not in _CLASSES:
            problem = f"expected the label VBZ or VBP, found {prefix.label!r}"
            yield BadLine(location(path, number), "no label", problem)
        else:
            yield prefix


def _from_json(line: str, attractors: int) -> _Prefix:
    content = json.loads(line)
    words, verb, label = (content[key] for key in ("tokens", "verb", "label"))
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise ValueError(f"tokens: expected a list of words, found {words!r:.60}")
    if type(verb) is not int or not 0 <= verb < len(words):
        raise ValueError(f"verb: expected the number of a token, 0 to {len(words) - 1}, found {verb!r:.60}")
    attractors = content.get("n_attractors", attractors)
    if type(attractors) is not int:
        raise ValueError(f"n_attractors: expected a whole number, found {attractors!r:.60}")
    return _Prefix(tuple(words[:verb]), str(label), attractors)


def _from_columns(line: str, attractors: int) -> _Prefix:
    label, prefix = line.split("\t")
    return _Prefix(tuple(prefix.split(" ")) if prefix else (), label, attractors)
