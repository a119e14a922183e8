"""What holds for the package as a whole: lazy imports, public names, one version."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import treeformer


def modules_loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after ``statement``."""
    script = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import treeformer", {"torch", "transformers", "numpy"}),
        ("dir(__import__('treeformer'))", {"torch", "transformers", "numpy"}),
        ("from treeformer import Tree", {"torch", "transformers", "nltk", "matplotlib"}),
        ("import treeformer.trees", {"torch", "transformers", "nltk", "matplotlib"}),
        ("from treeformer import TreeBatch", {"transformers"}),
        ("import treeformer.nn", {"transformers"}),
        ("from treeformer import load_parser", {"torch", "transformers"}),
        ("from treeformer import load_parser; load_parser('en')", {"transformers"}),
        ("from treeformer import TreeProcessor", {"transformers", "sacremoses"}),
        ("import treeformer.cli.main", {"typer"}),  # handlers of signals come first
        ("import treeformer.cli.commands", {"torch", "transformers"}),
        ("import treeformer.serving.server", {"torch", "transformers"}),  # only model processes hold them
        ("import treeformer.training.recipe", {"torch", "transformers"}),  # a wrong key is told at once
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, absent: set[str]) -> None:
    assert not modules_loaded_by(statement) & absent


@pytest.mark.parametrize("name", treeformer.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    value = getattr(treeformer, name)
    assert getattr(value, "__name__", name) == name
    assert getattr(treeformer, name) is value
    assert name in dir(treeformer)


def test_an_unknown_name_is_an_attribute_error_that_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"'treeformer' has no attribute 'Treee'; it exports Tree, "):
        _ = treeformer.Treee
    with pytest.raises(ImportError, match="Treee"):
        from treeformer import Treee  # noqa: F401


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    source = ast.parse(Path(treeformer.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in source.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    seen = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == treeformer._MODULES


def test_the_installed_version_is_the_version_of_the_source() -> None:
    assert importlib.metadata.version("treeformer") == treeformer.__version__


def test_type_hints_are_published() -> None:
    assert Path(treeformer.__file__).with_name("py.typed").is_file()


ROOMS = (
    *("trees", "ops", "nn", "parsing", "data", "models", "inference", "evaluation", "training"),
    *("analysis", "serving", "cli"),
)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    for path in Path(treeformer.__file__).parent.joinpath(room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("treeformer."):
                imported = node.module.split(".")[1]
                assert imported not in ROOMS or ROOMS.index(imported) <= ROOMS.index(room), (
                    f"{path}: {node.module}"
                )
