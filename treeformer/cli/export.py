"""``treeformer export``: a classifier as an ONNX file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="Run folder of a classifier.", show_default=False)],
    onnx: Annotated[Path, typer.Option(help="File to write.", show_default=False)],
) -> None:
    """Write a classifier as an ONNX file, which onnxruntime computes without torch.

    treeformer export runs/sst5 --onnx sst5.onnx
    """
    from treeformer.inference.export import export_onnx

    print(f"treeformer: exporting {run} …", file=sys.stderr)
    export_onnx(run, onnx)
    print(f"{onnx}: {onnx.stat().st_size / 1e6:.1f} MB")
