"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from treeformer.parsing.failures import Failure
    from treeformer.trees import Tree

    Input = str | Tree

Recipe = Annotated[
    Path, typer.Argument(help="Name of a recipe, as `treeformer recipes` lists them, or a YAML file.")
]
Device = Annotated[
    str | None, typer.Option(help="Device to compute on: cpu or cuda; default: cuda where there is one.")
]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16.")]
Trees = Annotated[bool, typer.Option("--trees", help="The input is trees in brackets.")]
Batch = Annotated[int, typer.Option(min=1, help="Number of sources that are decoded together.")]
Beams = Annotated[int | None, typer.Option(min=1, help="Number of beams; default: that of the recipe.")]
LengthPenalty = Annotated[
    float | None, typer.Option(help="Length penalty of the search; default: that of the recipe.")
]


def inputs_of(lines: Iterable[tuple[int, str]], *, trees: bool, name: str) -> Iterator[Input]:
    """The text or tree of each numbered line; an empty line stays an empty text.

    Several trees on a line are one input under ``DOC``. ``ValueError`` names a line that is no tree.
    """
    from treeformer.trees import TreeFormatError, document, read_trees

    for number, line in lines:
        text = line.rstrip("\n")
        if not trees or not text.strip():
            yield text
            continue
        try:
            yield document(list(read_trees(StringIO(text), unary="keep")))
        except TreeFormatError as error:
            raise ValueError(f"{name}:{number}:{error.column}: {error.problem}") from error


def in_chunks(inputs: Iterable[Input], size: int) -> Iterator[list[Input]]:
    """The inputs in lists of this size, so that memory does not grow with the input."""
    from treeformer.chunking import split_by_total

    return split_by_total(inputs, lambda _: 1, budget=size)


def report_failures(failures: Iterable[Failure]) -> None:
    """Report on standard error each sentence that the parser failed on."""
    for failure in failures:
        message = f"the parser failed ({failure.reason}), read as a flat tree: {failure.sentence}"
        print(f"treeformer: {message}", file=sys.stderr)


def report_advice() -> None:
    """Report on standard error how to get the better sentiment model, if the small one answers."""
    from treeformer.inference.shipped import advice

    line = advice()
    if line is not None:
        print(f"treeformer: {line}", file=sys.stderr)
