"""``treeformer reproduce``: a table or figure of the paper, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_NAMES = (
    "classification, translation, ablations, controls, data-size, attention-share, recursion, code, "
    "pretrained, speed, parameters; all of them; or page, which writes all pages and plots again from "
    "the JSON files"
)
_RUN, _CHOICE = "Running", "Selection"
_JOBS_PER_GPU = 8  # trainings are small


def command(
    name: Annotated[str, typer.Argument(help=f"Table or figure: {_NAMES}.")],
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data; not needed if all corpora are prepared.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Folder of prepared corpora, runs and logs.")] = Path("work"),
    results: Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.md, NAME.svg.")] = Path("results"),
    recipes: Annotated[
        Path | None, typer.Option(help="Folder of other recipes of the same names; default: the package's.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small version for two CPU cores.", rich_help_panel=_CHOICE)
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run only SYSTEM, TASK or SYSTEM/TASK; may be repeated.", rich_help_panel=_CHOICE),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds to run, as in 1,2.", rich_help_panel=_CHOICE)
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a value in every recipe.", rich_help_panel=_CHOICE
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="List the runs and their states; run nothing.", rich_help_panel=_CHOICE
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of commands that run at the same time.", rich_help_panel=_RUN),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Time limit in minutes; running commands save and stop.", rich_help_panel=_RUN),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Device to compute on: cpu or cuda; default: cuda where there is one.", rich_help_panel=_RUN
        ),
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="Commit of the source; default: ask git.", rich_help_panel=_RUN)
    ] = None,
    page: Annotated[Path, typer.Option(help="Page of all results that `page` writes.")] = Path(
        "docs/results.md"
    ),
) -> None:
    """Run what is missing of a table or figure, and write it. An interrupted command can be run again.

    treeformer reproduce classification --data DATA --work work --jobs 8
    """
    from treeformer.analysis.reproduction import Selection, listing, reproduce, rewrite_pages
    from treeformer.analysis.runner import Runner
    from treeformer.analysis.workspace import Workspace, source_commit
    from treeformer.machine import chosen_device, cores
    from treeformer.progress import LogLines
    from treeformer.recipe_files import recipes_folder

    if name == "page":
        rewrite_pages(results, page, LogLines())
        return
    selection = Selection(quick, _seeds(seeds), changes or (), only or ())
    on_gpu = chosen_device(device).type == "cuda"
    count = jobs or (min(_JOBS_PER_GPU, cores()) if on_gpu else cores())
    folder = work / "quick" if quick else work
    workspace = Workspace(
        folder,
        recipes or recipes_folder(),
        data,
        device,
        workers=max(1, count // 2),
        commit=commit or source_commit(),
    )
    names = selection.names(name)
    if dry_run:
        for one in names:
            print(*listing(one, selection, workspace), sep="\n")
        return
    runner = Runner(folder / "logs", count, minutes, LogLines())
    complete = [reproduce(one, selection, workspace, runner, results) for one in names if not runner.stopped]
    if runner.stopped or not all(complete):
        raise typer.Exit(1)


def _seeds(text: str | None) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")] if text else []
    except ValueError:
        raise ValueError(f"--seeds {text}: expected numbers, as in 1,2,3") from None
