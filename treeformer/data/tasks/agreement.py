"""Subject-verb agreement: is the verb that follows these words singular or plural?

A model reads the words before the verb, under a parse of just these words. What comes after is never looked
at: not the verb, nor a tree that saw it, nor a vocabulary that counted it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from treeformer.data.sample import Bad, Sample, place, text_lines, together, tree_lines
from treeformer.data.tasks.task import Part, Task, ToParse
from treeformer.trees.tree import Unary

_CLASSES = ("VBZ", "VBP")


class AgreementPart(Part):
    """A file of prefixes: JSON lines with ``tokens, verb, label, n_attractors``, or ``label<TAB>prefix``."""

    attractors: int = Field(default=0, description="of every example, where the file does not tell")


class _Prefix(NamedTuple):
    words: tuple[str, ...]
    label: str
    attractors: int


class AgreementTask(Task):
    """Singular (VBZ) or plural (VBP); scores are broken down by the number of attractors."""

    name: Literal["agreement"]
    splits: Mapping[str, AgreementPart] = Field(description="the files of each split; train must be there")

    @property
    def class_names(self) -> tuple[str, ...]:
        return _CLASSES

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        prefixes = _prefixes(files["file"], 0)
        lines = ("" if isinstance(prefix, Bad) else " ".join(prefix.words) for prefix in prefixes)
        return ToParse(lines, tokenized=True, one_per_line=True)

    def samples(self, part: Part, files: Mapping[str, Path], unary: Unary) -> Iterator[Sample | Bad]:
        attractors = part.attractors if isinstance(part, AgreementPart) else 0
        sides = {"file": _prefixes(files["file"], attractors), "trees": tree_lines(files["trees"], unary)}
        for number, row in enumerate(together(files, sides), start=1):
            if isinstance(row, Bad):
                yield row
                continue
            prefix, trees = row
            if isinstance(prefix, Bad):
                yield prefix
            elif isinstance(trees, Bad):
                yield trees
            elif tuple(word for tree in trees for word in tree.words) != prefix.words:
                story = "expected a tree over exactly the words before the verb"
                yield Bad(place(files["trees"], number), "other words", story)
            else:
                yield Sample(trees, label=prefix.label, group=prefix.attractors)


def _prefixes(path: Path, attractors: int) -> Iterator[_Prefix | Bad]:
    """The examples of a file, line by line."""
    read = _from_json if ".jsonl" in path.suffixes else _from_columns
    for number, line in enumerate(text_lines(path), start=1):
        try:
            prefix = read(line, attractors)
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            yield Bad(place(path, number), "no example", f"expected words, a verb and its label: {error}")
            continue
        if not prefix.words:
            yield Bad(place(path, number), "nothing before the verb", "expected words before the verb")
        elif prefix.label not in _CLASSES:
            story = f"expected the label VBZ or VBP, found {prefix.label!r}"
            yield Bad(place(path, number), "no label", story)
        else:
            yield prefix


def _from_json(line: str, attractors: int) -> _Prefix:
    content = json.loads(line)
    words = tuple(map(str, content["tokens"][: content["verb"]]))
    return _Prefix(words, str(content["label"]), int(content.get("n_attractors", attractors)))


def _from_columns(line: str, attractors: int) -> _Prefix:
    label, prefix = line.split("\t")
    return _Prefix(tuple(prefix.split(" ")) if prefix else (), label, attractors)
