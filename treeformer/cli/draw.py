"""``treeformer draw``: trees as text, or one tree as SVG."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer


class _Arguments(io.StringIO):
    """Trees of the command line; messages call them as the help does."""

    name = "TREE"


def command(
    brackets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TREE", help="Bracketed trees; default: standard input."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the one tree as SVG to this file; - for standard output.")
    ] = None,
    collapse: Annotated[bool, typer.Option(help="Collapse unary chains.")] = False,
    strip: Annotated[bool, typer.Option(help="Strip function tags, indices and traces.")] = False,
) -> None:
    """Draw trees as text, or one tree as SVG.

    treeformer draw "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"
    """
    from treeformer.cli.pictures import write_picture
    from treeformer.cli.terminal import hint_about_input, terminal_width
    from treeformer.trees import read_trees, to_svg, to_text

    if not brackets:
        hint_about_input("trees in brackets")
    source = _Arguments("\n".join(brackets)) if brackets else sys.stdin
    trees = read_trees(source, unary="collapse" if collapse else "keep", strip=strip)
    if svg is None:
        for tree in trees:
            print(to_text(tree, width=terminal_width()))
        return
    drawn = list(trees)
    if len(drawn) != 1:
        raise ValueError(f"--svg draws one tree, got {len(drawn)}")
    picture = to_svg(drawn[0])
    write_picture(picture, svg)
