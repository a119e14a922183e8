"""The recipes of the package: listed, printed and used by name, in a clone and in a wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import refusal
from treeformer.cli.commands import app
from treeformer.recipe_files import recipe_names, recipe_path
from treeformer.training.recipe import Recipe

ROOT = Path(__file__).parents[2]
BUILD = "from hatchling.build import build_wheel; print(build_wheel({folder!r}))"


def test_recipes_are_listed_with_what_they_train_and_printed() -> None:
    listing = CliRunner().invoke(app, ["recipes"]).stdout.splitlines()
    assert [line.split()[0] for line in listing] == recipe_names()
    assert "labelled           Your own texts with labels" in listing
    shown = CliRunner().invoke(app, ["recipes", "show", "labelled"]).stdout
    assert shown == (ROOT / "recipes" / "labelled.yaml").read_text(encoding="utf-8")


def test_a_file_comes_before_a_recipe_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Recipe.load("labelled").data.task.name == "labelled"  # type: ignore[attr-defined]
    Path("labelled").write_text(recipe_path("sst5").read_text(encoding="utf-8"))
    assert Recipe.load("labelled").data.task.name == "sst"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("recipe", "advice"),
    [
        ("labeled", "did you mean labelled?"),
        ("elsewhere/labelled.yaml", "the package has a recipe of this name: labelled"),
        ("quite-another", "treeformer recipes lists them"),
        (".", "expected a recipe, which is a YAML file, found a folder"),
    ],
)
def test_a_recipe_that_is_not_there_is_refused_with_advice(recipe: str, advice: str, tmp_path: Path) -> None:
    assert advice in refusal("prepare", recipe, "--data", tmp_path, "--output", tmp_path / "o")
    assert advice in refusal("recipes", "show", recipe)


def test_a_wheel_has_the_recipes_and_finds_them(tmp_path: Path) -> None:
    def python(*arguments: str, folder: Path, path: Path | None = None) -> str:
        environment = {} if path is None else {"PYTHONPATH": str(path)}
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    name = python("-c", BUILD.format(folder=str(tmp_path)), folder=ROOT).split()[-1]
    installed = tmp_path / "installed"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        wheel.extractall(installed)
    where = python("-c", "import treeformer; print(treeformer.__file__)", folder=tmp_path, path=installed)
    assert where.startswith(str(installed))
    listing = python("-m", "treeformer", "recipes", folder=tmp_path, path=installed)
    assert [line.split()[0] for line in listing.splitlines()] == recipe_names()
    runs = python(
        *("-m", "treeformer", "reproduce", "recursion", "--quick", "--dry-run"),
        folder=tmp_path,
        path=installed,
    )
    assert "listops" in runs
    assert "other recipe" not in runs
