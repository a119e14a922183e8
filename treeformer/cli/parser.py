"""``treeformer parser``: what parsers need before they parse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformer.parsing import installation

app = typer.Typer(help="Install and train parsers.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Install and train parsers."""


@app.command("install")
def install(
    name: Annotated[str, typer.Argument(help="The parser: corenlp.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to put it; default: CORENLP_HOME, else the user's data folder.")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="en, de or fr; may be given several times. Default: en.")
    ] = None,
) -> None:
    """Install a parser through Maven; nothing is fetched twice.

    treeformer parser install corenlp --folder DIR --language en --language de
    """
    if name != "corenlp":
        raise ValueError(f"parser {name!r}: expected corenlp")
    installation.install(folder or installation.chosen_folder(), language or ["en"])


@app.command("train")
def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe such as recipes/parser-en.yaml.")],
    data: Annotated[Path, typer.Option(help="The folder that holds the recipe's files.")],
    output: Annotated[Path, typer.Option(help="The folder for the trained parser.")],
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
) -> None:
    """Train an embedded parser from a recipe.

    treeformer parser train recipes/parser-en.yaml --data DATA --output parser-en
    """
    import torch

    from treeformer.configuration import read_recipe
    from treeformer.training.parser import ParserRecipe, train_parser

    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    train_parser(read_recipe(recipe, ParserRecipe), data, output, device=chosen)
