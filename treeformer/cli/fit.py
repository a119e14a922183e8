"""``treeformer fit``: a table of labelled texts to a model and a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option


def command(
    file: Annotated[
        Path, typer.Argument(help="CSV, JSON-lines or Parquet file with a text and a label in each row.")
    ],
    text: Annotated[
        str | None, typer.Option(help="Name of the column of texts; default: found by names and values.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Name of the column of labels; default: found by names and values.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="File of rows to test on; default: a fifth of the rows of FILE.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the results; default: the name of FILE and -fit.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the texts: en, de or fr.")] = "en",
    encoder: Annotated[
        str,
        typer.Option(
            help="Name or folder of a pretrained encoder, none to train from scratch, or installed for an "
            "installed encoder if there is one."
        ),
    ] = "installed",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split, the weights, the order and dropout.")
    ] = 1,
    drop: Annotated[bool, typer.Option("--drop", help="Leave out rows that cannot be used.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a key of the recipe, as in training.epochs=5."
        ),
    ] = None,
    device: option.Device = None,
) -> None:
    """Train a model on a table of labelled texts, and compare it with two baselines in a report.

    treeformer fit reviews.csv

    Ctrl-C stops, and the same command resumes.
    """
    from treeformer.fitting.source import file_columns

    for table in (file, test):
        if table is not None:
            file_columns(table, text, label)  # before imports that take seconds

    from treeformer.fitting.fitting import fit
    from treeformer.fitting.rows import BadRowsError

    try:
        result = fit(
            file,
            text=text,
            label=label,
            test=test,
            output=output,
            language=language,
            encoder=None if encoder == "none" else encoder,
            seed=seed,
            drop=drop,
            overrides=changes or (),
            device=device,
            ask=_ask if sys.stdin.isatty() else None,
        )
    except KeyboardInterrupt:
        print("treeformer: stopped; the same command resumes", file=sys.stderr)
        raise typer.Exit(130) from None
    except BadRowsError as error:
        print(*error.lines, sep="\n", file=sys.stderr)
        raise ValueError(error.summary) from None
    print(result)


def _ask(purpose: str, columns: Sequence[str]) -> str:
    """The column that the user names."""
    print(f"Which column holds the {purpose}s? {', '.join(columns)}", file=sys.stderr)
    answer: str = typer.prompt("Column", default=columns[0], err=True)
    return answer
