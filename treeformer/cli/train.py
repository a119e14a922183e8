"""``treeformer train``: a recipe and a prepared corpus to a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    recipe: Annotated[Path, typer.Argument(help="A recipe such as recipes/sst5.yaml.")],
    data: Annotated[Path, typer.Option(help="The folder that `treeformer prepare` wrote.")],
    output: Annotated[Path, typer.Option(help="The folder of the run; one that is there goes on.")],
    seed: Annotated[int, typer.Option(help="Of weights, order and dropout.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another value, as training.updates=100."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
) -> None:
    """Train a model; Ctrl-C saves it, and the same command goes on.

    treeformer train recipes/sst5.yaml --data prepared/sst5 --output runs/sst5 --seed 1

    torchrun --nproc-per-node 8 -m treeformer train … does the same on 8 GPUs.
    """
    from treeformer.training.recipe import Recipe

    experiment = Recipe.load(recipe, changes or [])  # before what takes seconds to load
    from treeformer.data.corpus import PreparedCorpus
    from treeformer.training.loop import train
    from treeformer.training.processes import leave

    try:
        train(experiment, PreparedCorpus.open(data), output, seed=seed, device=device)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    leave()
