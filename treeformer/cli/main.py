"""The command ``treeformer`` and what all its commands do when something goes wrong."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer

from treeformer.cli import classify, draw, evaluate, parse, parser, prepare, score, train, translate

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
app.command("score")(score.command)
app.command("train")(train.command)
app.command("translate")(translate.command)
app.add_typer(parser.app, name="parser")


@app.callback()
def options() -> None:
    """Neural networks that read parse trees."""


def main() -> None:
    """Run the command line. Bad input ends with one line on standard error and status 1, no traceback."""
    _use_utf8()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # what goes wrong is told here, in one line
    try:
        app()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        sys.exit(1)
    except (ValueError, OSError, ImportError) as error:  # ImportError: an extra is not installed
        print(f"treeformer: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # that was the error
            _drop_output()
        sys.exit(1)


def _use_utf8() -> None:
    """Text is UTF-8, and lines end with a newline, whatever the environment says."""
    if isinstance(sys.stdin, TextIOWrapper):  # bytes that are not UTF-8 are found where lines are read
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def _drop_output() -> None:
    """Write what is still to be written to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
