"""``treeformer draw``: trees as text, or one tree as SVG."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from treeformer.trees import Tree, read_trees, to_svg, to_text


def command(
    brackets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TREE]...", help="Bracketed trees; default: standard input."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the one tree as SVG to this file, - for output.")
    ] = None,
    collapse: Annotated[bool, typer.Option(help="Collapse unary chains.")] = False,
    strip: Annotated[bool, typer.Option(help="Strip function tags, indices and traces.")] = False,
) -> None:
    """Draw trees as text, or one tree as SVG.

    treeformer draw "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"
    """
    source = io.StringIO("\n".join(brackets)) if brackets else sys.stdin
    trees = read_trees(source, unary="collapse" if collapse else "keep", strip=strip)
    if svg is None:
        for tree in trees:
            print(to_text(tree))
        return
    picture = to_svg(_only(list(trees)))
    if str(svg) == "-":
        print(picture)
    else:
        svg.write_text(picture, encoding="utf-8")


def _only(trees: list[Tree]) -> Tree:
    if len(trees) != 1:
        raise ValueError(f"--svg draws one tree, got {len(trees)}")
    return trees[0]
