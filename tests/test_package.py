"""What holds for the package as a whole: lazy imports, public names, one version."""

import ast
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import treeformer
from treeformer.inference.shipped import SHIPPED


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
        (
            "from treeformer import load_parser; load_parser('en').parse(['It rains.'])",
            {"torch", "transformers", "pyarrow", "tokenizers"},
        ),
        ("from treeformer import TreeProcessor", {"transformers", "sacremoses"}),
        (
            "from treeformer.encoders import install, load_encoder",
            {"torch", "transformers", "huggingface_hub"},
        ),
        ("import treeformer.cli.main", {"typer"}),  # handlers of signals come first
        ("import treeformer.cli.commands", {"torch", "transformers"}),
        ("import treeformer.serving.server", {"torch", "transformers"}),  # only model processes hold them
        ("import treeformer.training.recipe", {"torch", "transformers"}),  # a wrong key is reported at once
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, absent: set[str]) -> None:
    assert not modules_loaded_by(statement) & absent


#: Packages that every command loads, to read its options.
COMMAND_LINE = {"annotated_doc", "annotated_types", "pydantic", "pydantic_core", "shellingham", "typer"} | {
    "typing_extensions",
    "typing_inspection",
}
PARSER = {"numpy", "onnxruntime", "safetensors", "yaml"}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], {"rich", "markdown_it", "mdurl", "pygments", "attr", "attrs"}),
        (["parse"], PARSER),
        (
            ["classify", "--json", "--device", "cpu", "--model", str(SHIPPED), "It rains."],
            PARSER | {"tokenizers"},
        ),
    ],
)
def test_a_command_loads_only_the_packages_that_its_answer_needs(
    arguments: list[str], allowed: set[str]
) -> None:
    script = (
        "import sys; from treeformer.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "names = {getattr(module, '__file__', None) or '' for module in list(sys.modules.values())}\n"
        "print(*sorted(names), sep='\\n', file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *arguments]
    run = subprocess.run(command, input="It rains.\n", capture_output=True, text=True, check=True)
    files = [Path(line).parts for line in run.stderr.splitlines() if "site-packages" in line]
    packages = {parts[parts.index("site-packages") + 1].partition(".")[0] for parts in files}
    assert run.stdout
    assert packages - {"treeformer", "_distutils_hack"} <= COMMAND_LINE | allowed


#: Stands for an environment without the extra torch: these packages cannot be imported.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys(['torch', 'transformers', 'pyarrow', 'tokenizers']))"


@pytest.mark.parametrize(
    "statement",
    [
        "from treeformer import TreeBatch",
        "from treeformer import Classifier",
        "from treeformer import TreeProcessor, prepare",
        "from treeformer import train",
        "import treeformer.nn",
        "import treeformer.models.tree_lstm",
        "from treeformer import load_parser; load_parser('en', device='cuda')",
        "from treeformer import load_parser; load_parser('en', bf16=True)",
        "from treeformer.machine import chosen_device; chosen_device(None)",
        "from treeformer.encoders import load_encoder; load_encoder('minilm')",
    ],
)
def test_what_needs_torch_names_the_extra_without_it(statement: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT}\n{statement}"], capture_output=True, text=True, check=False
    )
    message = "torch is not installed; models need it: pip install '.[torch]' in the clone"
    assert run.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"


@pytest.mark.parametrize(
    "arguments",
    [["classify", "It rains."], ["train", "r", "--data", "d", "--output", "o"], ["parse", "--bf16"]],
)
def test_a_command_that_needs_torch_names_the_extra_without_it(arguments: list[str]) -> None:
    script = f"{WITHOUT}; from treeformer.cli.main import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input="It rains.",
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    message = "treeformer: torch is not installed; models need it: pip install '.[torch]' in the clone"
    assert run.stderr.splitlines()[-1] == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "missing.csv"], "missing.csv: no such file; expected a .csv, .tsv, .jsonl or .parquet file"),
        (["fit", "a.csv", "--label", "c"], "a.csv: expected a column c, found the columns text, label"),
        (["fit", "a.csv", "--test", "b.csv"], "b.csv: the file is empty; expected a row for each text"),
        (["classify", "--model", "c", "It rains."], "c: no such folder, expected a run of treeformer train"),
    ],
)
def test_a_missing_file_or_column_is_reported_before_torch_is_loaded(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("text,label\n", encoding="utf-8")
    (tmp_path / "b.csv").touch()
    script = (
        "import sys; from treeformer.cli.main import main\n"
        "try: main()\n"
        "finally: print('torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", script, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (run.returncode, run.stdout, run.stderr) == (1, "False\n", f"treeformer: {message}\n")


def test_trees_and_parsers_need_no_package_of_the_extra() -> None:
    script = (
        f"{WITHOUT}; from treeformer import Tree, load_parser\n"
        "from treeformer.evaluation import score_trees\n"
        "(tree,) = load_parser('en').parse(['It rains.'])\n"
        "print(tree, score_trees([tree], [tree]).all.f1)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "(ROOT (S (NP (PRP It)) (VP (VBZ rains)) (. .))) 100.0\n"


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
    *(
        "trees",
        "ops",
        "nn",
        "parsing",
        "integrations",
        "encoders",
        "data",
        "models",
        "inference",
        "evaluation",
    ),
    *("training", "analysis", "fitting", "serving", "cli"),
)
BESIDE_THE_ROOMS = (
    *("caching", "checksums", "chunking", "configuration", "downloads", "extras", "import_hook", "machine"),
    "model_folder",
    "needs_torch",
    *("progress", "recipe_files", "storage"),
)
PACKAGE = Path(treeformer.__file__).parent


def imported_modules(source: str, package: str) -> Iterator[str]:
    """Full names of the modules and names that a file of ``package`` imports, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*parents, module] if module else parents)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def forbidden_imports(source: str, package: str, allowed: set[str]) -> list[str]:
    """Imports of modules and rooms of treeformer that are not ``allowed``."""
    parts = [name.split(".") for name in imported_modules(source, package)]
    known = {*ROOMS, *BESIDE_THE_ROOMS}
    return [
        ".".join(name)
        for name in parts
        if name[0] == "treeformer" and len(name) > 1 and name[1] in known - allowed
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room: str) -> None:
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *BESIDE_THE_ROOMS}
    for path in PACKAGE.joinpath(room).rglob("*.py"):
        package = ".".join(["treeformer", *path.relative_to(PACKAGE).parent.parts])
        assert not forbidden_imports(path.read_text(encoding="utf-8"), package, allowed), path


@pytest.mark.parametrize("module", BESIDE_THE_ROOMS)
def test_a_module_beside_the_rooms_imports_no_room(module: str) -> None:
    source = PACKAGE.joinpath(f"{module}.py").read_text(encoding="utf-8")
    assert not forbidden_imports(source, "treeformer", set(BESIDE_THE_ROOMS))


def test_every_module_is_in_a_room_or_known_to_be_beside_them() -> None:
    files = {path.stem for path in PACKAGE.glob("*.py")}
    assert files == {*BESIDE_THE_ROOMS, "__init__", "__main__"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


@pytest.mark.parametrize(
    "statement",
    [
        "import treeformer.training.loop",
        "import treeformer.training.loop as loop",
        "import os, treeformer.training",
        "from treeformer import training",
        "from treeformer.training import loop",
        "from treeformer.training.loop import train",
        "from ..training.loop import train",
        "from .. import training",
        "def f():\n    from treeformer.training.loop import train",
        "if TYPE_CHECKING:\n    import treeformer.training.recipe",
    ],
)
def test_an_import_of_a_room_below_is_detected(statement: str) -> None:
    (forbidden,) = forbidden_imports(statement, "treeformer.data", {"trees", "data", "storage"})
    assert forbidden.startswith("treeformer.training")


@pytest.mark.parametrize(
    "statement",
    [
        "import treeformer.trees.tree",
        "from treeformer import __version__, storage",
        "from treeformer.storage import write_file",
        "from .split import Split",
        "from . import corpus",
        "from ..trees import Tree",
        "import torch.training",
    ],
)
def test_other_imports_are_allowed(statement: str) -> None:
    assert forbidden_imports(statement, "treeformer.data", {"trees", "data", "storage"}) == []
