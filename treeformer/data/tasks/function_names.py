"""Names of functions: what is the first word of the name of this Python function?

Functions come from the modules of a folder, by default the standard library of the running interpreter. A
model reads a function whose name is hidden, without its documentation and comments. Splits share no module,
and no function of dev or test is a copy of one in train.
"""

from __future__ import annotations

import ast
import platform
import sysconfig
import tokenize
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from treeformer.configuration import Settings
from treeformer.data.sample import Sample
from treeformer.data.tasks.task import TRAIN, GeneratedTask
from treeformer.parsing.source_code import CodeParser, words_of

HIDDEN = "_"  #: stands for the name of the function
_TESTS = frozenset({"test", "tests", "idle_test", "site-packages"})  # folders that are left out


class ModulesOfSplit(Settings):
    """The modules of one split."""

    share: float = Field(gt=0, lt=1, description="share of the modules; splits take theirs in order")


class Function(NamedTuple):
    """A function of a folder of modules."""

    module: str  #: its file in the folder
    text: str  #: its code with the name hidden
    word: str  #: the first word of the name, in lower case


class FunctionNamesTask(GeneratedTask):
    """The first word of the hidden name of a Python function. Words that are rare in train are left out."""

    name: Literal["function-names"]
    language: str = Field(default="python", description="language of the code")
    folder: str | None = Field(
        default=None, description="folder of modules; default: the standard library of the interpreter"
    )
    min_functions: int = Field(default=20, ge=1, description="classes have at least as many in train")
    min_words: int = Field(default=10, ge=1, description="smallest number of leaves of a function")
    max_words: int = Field(default=150, ge=1, description="largest number of leaves of a function")
    splits: Mapping[str, ModulesOfSplit] = Field(description="modules of each split; train is required")

    @property
    def parsed_by(self) -> str:
        source = f"Python {platform.python_version()}" if self.folder is None else self.folder
        return f"{CodeParser('python').name}, functions of {source}"

    def generate(self, split: ModulesOfSplit) -> Iterator[Sample]:
        """The functions of a split."""
        [name] = [name for name, settings in self.splits.items() if settings is split]
        yield from self._samples[name]

    @cached_property
    def _samples(self) -> Mapping[str, list[Sample]]:
        """The samples of all splits; a function that an earlier split has is left out."""
        parser = CodeParser("python")
        samples: dict[str, list[Sample]] = {name: [] for name in self.splits}
        seen: set[str] = set()
        for function in sorted(functions_of(self.folder), key=lambda function: _place(function.module)):
            split = self._split_at(_place(function.module))
            if split is None or function.text in seen:
                continue
            seen.add(function.text)
            [tree] = parser.parse([function.text])
            if self.min_words <= len(tree.words) <= self.max_words:
                samples[split].append(Sample([tree], label=function.word))
        counts = Counter(sample.label for sample in samples[TRAIN])
        return {
            name: [sample for sample in split if counts[sample.label] >= self.min_functions]
            for name, split in samples.items()
        }

    def _split_at(self, place: float) -> str | None:
        """The split whose share of all modules includes this place; None beyond the last."""
        end = 0.0
        for name, split in self.splits.items():
            end += split.share
            if place < end:
                return name
        return None


def _place(module: str) -> float:
    """The place of a module in a random order, from 0 to 1, always the same."""
    return zlib.crc32(module.encode()) / 2**32


def functions_of(folder: str | None) -> Iterator[Function]:
    """The functions of the modules in a folder, in order; methods with fixed names are left out."""
    root = Path(sysconfig.get_paths()["stdlib"] if folder is None else folder)
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if _TESTS & {*place.parts}:
            continue
        with tokenize.open(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the module's own escapes
            module = ast.parse(file.read(), str(path))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                is_fixed = node.name.startswith("__") and node.name.endswith("__")
                words = [word.strip("_") for word in words_of(node.name) if word.strip("_")]
                if words and not is_fixed:
                    yield Function(place.as_posix(), hidden(node), words[0].lower())


def hidden(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The code of a function without its name, documentation and comments.

    >>> [node] = ast.parse("def power(x, n):\\n  'Multiply.'\\n  return x * power(x, n - 1)").body
    >>> print(hidden(node))
    def _(x, n):
        return x * _(x, n - 1)
    """
    documented = ast.get_docstring(function, clean=False) is not None
    rest = (function.body[1:] or [ast.Pass()]) if documented else function.body
    bare = type(function)(**{**vars(function), "body": rest, "decorator_list": []})
    return ast.unparse(_Hide(function.name).visit(ast.parse(ast.unparse(bare))))


class _Hide(ast.NodeTransformer):
    """Replaces a name wherever a function uses it, as in recursion or in a call of its base class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for key in ("name", "id", "attr"):
            if getattr(node, key, None) == self._name:
                setattr(node, key, HIDDEN)
        return super().generic_visit(node)
