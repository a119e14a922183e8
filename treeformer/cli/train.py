"""``treeformer train``: train a model from a recipe and a prepared corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option


def command(
    recipe: option.Recipe,
    data: Annotated[Path, typer.Option(help="Folder written by `treeformer prepare`.")],
    output: Annotated[Path, typer.Option(help="Run folder; an unfinished run in it is resumed.")],
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of weights, order and dropout.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key, as in training.updates=100."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device to compute on: cpu or cuda; default: cuda where there is one.")
    ] = None,
) -> None:
    """Train a model. Ctrl-C saves a checkpoint, and the same command resumes.

    treeformer train sst5 --data prepared/sst5 --output runs/sst5 --seed 1

    Settings of the data that `prepare` was given with --set need not be repeated.

    torchrun --nproc-per-node 8 -m treeformer train … trains on 8 GPUs.
    """
    from treeformer.training.recipe import Recipe

    Recipe.load(recipe, changes or ())  # errors first: the next imports take seconds
    from treeformer.training.loop import train
    from treeformer.training.processes import leave

    try:
        train(recipe, data, output, seed=seed, device=device, overrides=changes or ())
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    leave()
