"""The command ``treeformer`` and what all its commands do when something goes wrong."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from treeformer.cli import (
    analyse,
    classify,
    draw,
    evaluate,
    parse,
    parser,
    prepare,
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
app.command("parse")(parse.command)
app.command("prepare")(prepare.command)
app.command("reproduce")(reproduce.command)
app.command("score")(score.command)
app.command("serve")(serve.command)
app.command("train")(train.command)
app.command("translate")(translate.command)
app.add_typer(analyse.app, name="analyse")
app.add_typer(parser.app, name="parser")


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


def main() -> None:
    """Run the command line. Bad input ends with one line on standard error and status 1, no traceback."""
    _use_utf8()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # errors are reported below, in one line
    try:
        app()
    except BrokenPipeError:  # the reader closed the pipe, e.g. `head`
        _drop_output()
        sys.exit(1)
    except (ValueError, OSError, ImportError) as error:  # ImportError: an extra is not installed
        print(f"treeformer: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # writing to stdout was what failed
            _drop_output()
        sys.exit(1)


def _use_utf8() -> None:
    """Text is UTF-8, and lines end with a newline, regardless of the locale."""
    if isinstance(sys.stdin, TextIOWrapper):  # bytes that are not UTF-8 are reported by the line readers
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def _drop_output() -> None:
    """Discard unflushed output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
