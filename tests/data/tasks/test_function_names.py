"""Names of functions: what is hidden, which functions count, and which split has them."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.tasks.function_names import FunctionNamesTask, functions_of, hidden
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe

RECIPE = Path(__file__).parents[3] / "recipes" / "code.yaml"
MODULE = '''
import os

class Reader:
    def __init__(self):
        self.getter = 1

    def getAll(self, {name}):
        """Get all of them."""
        # in order
        return self.getAll({name}) + os.getAll

def read_{name}(path, other):
    def _closeNow():
        return path
    return [read_{name}, _closeNow, "read_{name}", other]
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of forty modules, and one of tests."""
    folder = tmp_path_factory.mktemp("library")
    for number in range(40):
        (folder / f"m{number}.py").write_text(MODULE.replace("{name}", f"v{number}"), encoding="utf-8")
    (folder / "copy.py").write_text(MODULE.replace("{name}", "v0"), encoding="utf-8")
    (folder / "tests").mkdir()
    (folder / "tests" / "t.py").write_text(MODULE, encoding="utf-8")
    return folder


def task(folder: Path, **more: Any) -> FunctionNamesTask:
    splits = {"train": {"share": 0.6}, "dev": {"share": 0.2}, "test": {"share": 0.2}}
    content = {"name": "function-names", "folder": str(folder), "splits": splits, "min_functions": 1}
    return FunctionNamesTask.model_validate(content | {"min_words": 5} | more)


def test_functions_are_found_with_the_first_word_of_their_names(library: Path) -> None:
    functions = list(functions_of(str(library)))
    assert Counter(function.word for function in functions) == {"get": 41, "read": 41, "close": 41}
    assert {function.module for function in functions} == {"copy.py"} | {f"m{i}.py" for i in range(40)}


def test_nothing_of_the_name_documentation_or_comments_remains() -> None:
    [node] = [node for node in ast.walk(ast.parse(MODULE.replace("{name}", "x"))) if is_named(node, "getAll")]
    assert isinstance(node, ast.FunctionDef)
    assert hidden(node) == "def _(self, x):\n    return self._(x) + os._"
    assert node.name == "getAll"  # the module itself is unchanged


def test_a_function_of_documentation_alone_has_an_empty_body() -> None:
    [node] = ast.parse("@cached\nasync def f():\n  'Nothing.'").body
    assert isinstance(node, ast.AsyncFunctionDef)
    assert hidden(node) == "async def _():\n    pass"


def test_splits_share_no_module_and_no_function(library: Path) -> None:
    chosen = task(library)
    texts = {
        name: [" ".join(sample.sentences[0].words) for sample in chosen.generate(split)]
        for name, split in chosen.splits.items()
    }
    assert all(texts.values())
    everything = [text for split in texts.values() for text in split]
    assert len(everything) == len(set(everything))
    values = {name: {word for text in split for word in text.split()} for name, split in texts.items()}
    shared = [values["train"] & values["test"], values["train"] & values["dev"]]
    numbers = {word for words in shared for word in words if word.isdigit()}
    assert not numbers, "the number of a module is in two splits"


def test_rare_words_and_functions_of_another_size_are_left_out(library: Path) -> None:
    chosen = task(library, min_functions=10)
    labels = {sample.label for sample in chosen.generate(chosen.splits["train"])}
    assert labels == {"get", "read"}  # all functions _closeNow are copies of one
    short = task(library, max_words=5)
    assert list(short.generate(short.splits["test"])) == []


def test_the_recipe_trains_on_a_folder_and_names_its_parser(library: Path, tmp_path: Path) -> None:
    changes = [f"data.task.folder={library}", "data.task.min_functions=5", "data.task.min_words=5"]
    changes += ["data.task.splits.dev.share=0.2", "data.task.splits.train.share=0.6"]
    changes += ["training.updates=2", "training.warm_up=1", "training.evaluate_every=2"]
    recipe = Recipe.load(RECIPE, changes)
    corpus = prepare(recipe, None, tmp_path / "prepared")
    assert corpus.manifest.classes == ("get", "read")
    assert f"functions of {library}" in PreparedCorpus.open(tmp_path / "prepared").manifest.parser
    train(recipe, tmp_path / "prepared", tmp_path / "run", seed=1, device="cpu")
    assert (tmp_path / "run" / "model.safetensors").is_file()


def is_named(node: ast.AST, name: str) -> bool:
    return getattr(node, "name", None) == name
