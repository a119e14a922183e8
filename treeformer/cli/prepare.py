"""``treeformer prepare``: a recipe and data to a folder that models train on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    recipe: Annotated[Path, typer.Argument(help="What the data is and what to make of it: a YAML file.")],
    data: Annotated[Path, typer.Option(help="Folder with the files that the recipe names.")],
    output: Annotated[Path, typer.Option(help="Folder to write; left alone if nothing has changed.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Another value for a key, as in data.drop=true.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that parse at the same time.")] = 1,
) -> None:
    """Prepare a corpus: parse what has no trees, learn the vocabulary, write Arrow files.

    treeformer prepare recipes/sst5.yaml --data DATA --output prepared/sst5
    """
    from treeformer.training.recipe import Recipe

    if not data.is_dir():
        raise ValueError(f"--data {data}: no such folder")
    experiment = Recipe.load(recipe, changes or ())  # before what takes seconds to load
    from treeformer.data.preparation import prepare

    prepare(experiment.data, data, output, workers=workers)
