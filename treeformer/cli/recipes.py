"""``treeformer recipes``: the recipes of the package."""

from __future__ import annotations

from typing import Annotated

import typer

from treeformer.cli.tables import table
from treeformer.recipe_files import recipe_names, recipe_path, recipe_title

app = typer.Typer(help="List and print the recipes of the package.", invoke_without_command=True)


@app.callback()
def listing(context: typer.Context) -> None:
    """List the recipes of the package; commands take them by name.

    treeformer prepare labelled --data DATA --output prepared/labelled
    """
    if context.invoked_subcommand is None:
        print(table([[name, recipe_title(recipe_path(name))] for name in recipe_names()], left=2))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The name of a recipe, as `treeformer recipes` lists them.")],
) -> None:
    """Print a recipe, with the commands that use it, to copy and change.

    treeformer recipes show labelled > mine.yaml
    """
    print(recipe_path(name).read_text(encoding="utf-8"), end="")
