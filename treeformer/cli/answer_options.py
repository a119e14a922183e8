"""Options of the commands that use a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import Annotated

import typer

from treeformer.trees import Tree, document, read_trees
from treeformer.trees.errors import TreeFormatError

Device = Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16.")]
Trees = Annotated[bool, typer.Option("--trees", help="The input is trees in brackets.")]
Batch = Annotated[int, typer.Option(min=1, help="Sources that are decoded together.")]
Beams = Annotated[int | None, typer.Option(min=1, help="Of the search; default: as in the recipe.")]
LengthPenalty = Annotated[float | None, typer.Option(help="Of the search; default: as in the recipe.")]

Input = str | Tree


def inputs_of(lines: Iterable[tuple[int, str]], *, trees: bool, name: str) -> Iterator[Input]:
    """The texts of numbered lines, or the trees; an empty line stays an empty text.

    Several trees on a line are one input under ``DOC``. ``ValueError`` names the line that is no tree.
    """
    for number, line in lines:
        text = line.rstrip("\n")
        yield _tree(text, f"{name}:{number}") if trees and text.strip() else text


def _tree(text: str, place: str) -> Tree:
    try:
        found = list(read_trees(StringIO(text), unary="keep"))
    except TreeFormatError as error:
        raise ValueError(f"{place}:{error.column}: {error.problem}") from error
    return document(found)


def in_chunks(inputs: Iterable[Input], size: int) -> Iterator[list[Input]]:
    """The inputs in lists of this size, so that a long file needs no more memory than a short one."""
    iterator = iter(inputs)
    while chunk := list(islice(iterator, size)):
        yield chunk
