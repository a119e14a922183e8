"""``treeformer analyse``: what a trained model attends to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.tables import table

app = typer.Typer(help="Analyse a trained model.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Analyse a trained model."""


@app.command("attention")
def attention(
    run: Annotated[Path, typer.Argument(help="Folder of a run of a translator that reads trees.")],
    split: Annotated[str, typer.Option(help="Split of the prepared corpus.")] = "test",
    data: Annotated[
        Path | None, typer.Option(help="Prepared corpus; default: the one the model was trained on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    device: option.Device = None,
) -> None:
    """Measure the share of cross-attention on nodes, by decoder layer; it is saved in RUN/analysis.

    treeformer analyse attention runs/multi30k-en-de --split test
    """
    from treeformer.analysis.attention_share import attention_share
    from treeformer.analysis.workspace import attention_path

    shares = attention_share(run, split, data, device=device)
    shares.save(attention_path(run, split))
    if as_json:
        print(json.dumps(shares.as_json()))
        return
    rows = [["decoder layer", "on nodes", *(f"{name} %" for name in shares.all.quantiles)]]
    layers = {str(number): layer for number, layer in enumerate(shares.layers, start=1)}
    for name, layer in (layers | {"all": shares.all}).items():
        rows.append([name, *(f"{share:.1f}" for share in (layer.mean, *layer.quantiles.values()))])
    print(table(rows))
    print(f"nodes among positions: {shares.positions.mean:.1f} % ({shares.examples} sentences)")
