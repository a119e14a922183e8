"""``treeformer prepare``: a recipe and data files to a prepared corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option


def command(
    recipe: option.Recipe,
    output: Annotated[Path, typer.Option(help="The folder to write; skipped if it is up to date.")],
    data: Annotated[
        Path | None,
        typer.Option(help="The folder of the files that the recipe names; not needed for generated data."),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Override a key of the recipe, as in data.drop=true.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Number of processes that parse.")] = 1,
) -> None:
    """Prepare a corpus: parse what has no trees, learn the vocabulary, write Arrow files.

    treeformer prepare sst5 --data DATA --output prepared/sst5
    """
    from treeformer.training.recipe import Recipe

    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: no such folder")
    experiment = Recipe.load(recipe, changes or ())  # before imports that take seconds
    if data is None and not experiment.data.task.generated:
        raise ValueError(f"--data: expected the folder of the files that {recipe} names")
    from treeformer.data.preparation import prepare

    prepare(experiment, data, output, workers=workers)
