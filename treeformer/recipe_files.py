"""The recipes of the package: YAML files that commands and `Recipe.load` find by name."""

from __future__ import annotations

import difflib
from pathlib import Path

_PACKAGE = Path(__file__).parent
_ENDING = ".yaml"


def recipes_folder() -> Path:
    """The folder of the recipes: inside the installed package, or beside it in a clone."""
    installed = _PACKAGE / "recipes"
    return installed if installed.is_dir() else _PACKAGE.parent / "recipes"


def recipe_names() -> list[str]:
    """The names of the recipes of the package, in alphabetical order."""
    return sorted(path.stem for path in recipes_folder().glob(f"*{_ENDING}"))


def recipe_path(recipe: str | Path) -> Path:
    """The file of a recipe: a path, or the name of a recipe of the package.

    A file of that name comes first. ``ValueError`` lists the names if there is neither.
    """
    path = Path(recipe)
    if path.is_file():
        return path
    shipped = recipes_folder() / f"{path.name.removesuffix(_ENDING)}{_ENDING}"
    is_name = path.name == str(recipe) and path.suffix != _ENDING
    if is_name and shipped.is_file():
        return shipped
    if path.is_dir():
        raise ValueError(f"{path}: expected a recipe, which is a YAML file, found a folder")
    if shipped.is_file():
        raise ValueError(f"{path}: no such file; the package has a recipe of this name: {shipped.stem}")
    near = difflib.get_close_matches(shipped.stem, recipe_names(), n=1)
    advice = f"did you mean {near[0]}?" if near else "treeformer recipes lists them"
    raise ValueError(f"{path}: no such file, and no recipe of the package; {advice}")


def recipe_title(path: Path) -> str:
    """What a recipe trains: the first sentence of the comment below its commands."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    text = " ".join(comment[comment.index("") + 1 :] if "" in comment else comment)
    return text.partition(". ")[0].removesuffix(".")
