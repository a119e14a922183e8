"""``treeformer reproduce``: a table or figure of the paper, end to end."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from treeformer.analysis.reproduction import Wanted
    from treeformer.analysis.work import Work

_NAMES = (
    "classification, translation, ablations, controls, data-size, attention-share, speed, parameters; "
    "all of them; or page, for docs/results.md"
)
_RUN, _CHOICE = "The run", "What is wanted"
_AT_ONCE = 8  # small trainings that share a GPU


def command(
    name: Annotated[str, typer.Argument(help=f"{_NAMES}.")],
    data: Annotated[Path | None, typer.Option(help="The data; not needed if all is prepared.")] = None,
    work: Annotated[Path, typer.Option(help="Folder of prepared corpora, runs and logs.")] = Path("work"),
    results: Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.md, NAME.svg.")] = Path("results"),
    recipes: Annotated[Path, typer.Option(help="Folder of the recipes.")] = Path("recipes"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version for two CPU cores.", rich_help_panel=_CHOICE)
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="SYSTEM, TASK or SYSTEM/TASK; the rest is not run.", rich_help_panel=_CHOICE),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Those to run, as in 1,2.", rich_help_panel=_CHOICE)
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Another value in every recipe.", rich_help_panel=_CHOICE
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what there is to do.", rich_help_panel=_CHOICE)
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Commands that run at once.", rich_help_panel=_RUN)
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many, saved.", rich_help_panel=_RUN)
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.", rich_help_panel=_RUN)] = None,
    commit: Annotated[
        str | None, typer.Option(help="Of the source, where git is not there.", rich_help_panel=_RUN)
    ] = None,
    page: Annotated[Path, typer.Option(help="Where `page` writes.")] = Path("docs/results.md"),
) -> None:
    """Run what is missing of a table or figure, and write it; the same command goes on where it stopped.

    treeformer reproduce classification --data DATA --work work --jobs 8
    """
    from treeformer.analysis.reproduction import Wanted, chosen_names, reproduce
    from treeformer.analysis.runner import Runner
    from treeformer.analysis.work import Work
    from treeformer.machine import chosen_device

    if name == "page":
        from treeformer.analysis.page import write_page

        write_page(results, page)
        return
    wanted = Wanted(quick, _seeds(seeds), changes or (), only or ())
    folder = work / "quick" if quick else work
    cores = os.cpu_count() or 1
    count = jobs or (min(_AT_ONCE, cores) if chosen_device(device).type == "cuda" else cores)
    place = Work(folder, recipes, data=data, device=device, workers=max(1, count // 2), commit=commit)
    names = chosen_names(name, wanted)
    if dry_run:
        for one in names:
            _list(one, wanted, place)
        return
    runner = Runner(place.folder / "logs", count, minutes, tell=_tell)
    complete = [reproduce(one, wanted, place, runner, results) for one in names if not runner.stopped]
    if runner.stopped or not all(complete):
        raise typer.Exit(1)


def _list(name: str, wanted: Wanted, work: Work) -> None:
    from treeformer.analysis.reproduction import listing

    for line in listing(name, wanted, work):
        print(line)


def _seeds(text: str | None) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")] if text else []
    except ValueError:
        raise ValueError(f"--seeds {text}: expected numbers, as in 1,2,3") from None


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
