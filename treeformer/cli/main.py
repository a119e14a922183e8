"""The command ``treeformer`` and what all its commands do when something goes wrong."""

from __future__ import annotations

import os
import sys

import typer

from treeformer.cli import draw, parse, parser, score

app = typer.Typer(
    name="treeformer",
    help="Neural networks that read parse trees.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("draw")(draw.command)
app.command("parse")(parse.command)
app.command("score")(score.command)
app.add_typer(parser.app, name="parser")


@app.callback()
def options() -> None:
    """Neural networks that read parse trees."""


def main() -> None:
    """Run the command line. Bad input ends with one line on standard error and status 1, no traceback."""
    try:
        app()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, OSError) as error:
        print(f"treeformer: {error}", file=sys.stderr)
        sys.exit(1)
