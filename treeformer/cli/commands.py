"""All commands of ``treeformer``."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from treeformer.cli import (
    analyse,
    classify,
    draw,
    encoder,
    evaluate,
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
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("classify")(classify.command)
app.command("draw")(draw.command)
app.command("evaluate")(evaluate.command)
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
) -> None:
    """Neural networks that read parse trees."""
    for module in modules or ():
        if (here := os.getcwd()) not in sys.path:
            sys.path.insert(0, here)
        import_module(module)
