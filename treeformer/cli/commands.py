"""All commands of ``treeformer``."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from treeformer import __version__
from treeformer.cli import (
    analyse,
    classify,
    draw,
    encoder,
    evaluate,
    export,
    fit,
    parse,
    parser,
    prepare,
    recipes,
    reproduce,
    score,
    serve,
    train,
    translate,
)

app = typer.Typer(
    name="treeformer",
    help="Neural networks that read parse trees.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("classify")(classify.command)
app.command("draw")(draw.command)
app.command("evaluate")(evaluate.command)
app.command("export")(export.command)
app.command("fit")(fit.command)
app.command("parse")(parse.command)
app.command("prepare")(prepare.command)
app.command("reproduce")(reproduce.command)
app.command("score")(score.command)
app.command("serve")(serve.command)
app.command("train")(train.command)
app.command("translate")(translate.command)
app.add_typer(analyse.app, name="analyse")
app.add_typer(encoder.app, name="encoder")
app.add_typer(parser.app, name="parser")
app.add_typer(recipes.app, name="recipes")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"treeformer {__version__}")
        raise typer.Exit


@app.callback()
def options(
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="A module, in this folder or installed, that registers systems, parsers or tasks.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Neural networks that read parse trees."""
    for module in modules or ():
        if (here := os.getcwd()) not in sys.path:
            sys.path.insert(0, here)
        import_module(module)
