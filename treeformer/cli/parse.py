"""``treeformer parse``: text to trees."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from treeformer.parsing import Parser, load_parser
from treeformer.parsing.command import CommandParser
from treeformer.parsing.corpus import parse_lines, write_lines
from treeformer.trees import Tree
from treeformer.trees.files import TextSource, numbered_lines


def command(
    file: Annotated[
        Path | None, typer.Argument(help="Text, a line at a time; default: standard input.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Trees, a line for each line; an interrupted run goes on where it stopped."),
    ] = None,
    language: Annotated[
        str, typer.Option(help="Language of the text: en; with corenlp also de and fr.")
    ] = "en",
    parser: Annotated[
        str, typer.Option(help="embedded, corenlp, or a folder that `treeformer parser train` wrote.")
    ] = "embedded",
    parser_command: Annotated[
        str | None, typer.Option(help="A program that reads tokens, a sentence a line, and writes brackets.")
    ] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Tokens are given, with white space between them.")
    ] = False,
    one_per_line: Annotated[
        bool, typer.Option("--one-per-line", help="Each line is one sentence and gives one tree.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that parse at the same time.")] = 1,
) -> None:
    """Parse text: each line gives the trees of its sentences on one line, an empty line an empty one.

    treeformer parse < sentences.txt > trees.txt
    """
    names = {"embedded": language, "corenlp": f"corenlp:{language}"}
    make_parser: Callable[[], Parser] = partial(load_parser, names.get(parser, parser))
    if parser_command is not None:
        make_parser = partial(CommandParser, parser_command, language)
    source: TextSource = sys.stdin if file is None else file

    def parsed(done: int) -> Iterator[list[Tree]]:
        lines = (line.rstrip("\n") for _, line in numbered_lines(source))
        rest = itertools.islice(lines, done, None)
        parsed = parse_lines(
            rest, make_parser, tokenized=tokenized, one_per_line=one_per_line, workers=workers
        )
        return _reported(parsed)

    if output is None:
        for trees in parsed(0):
            print(*trees)
    else:
        done = write_lines(parsed, output)
        if done:
            print(f"{done} lines were there from an earlier run", file=sys.stderr)


def _reported(parsed: Iterable[list[Tree]]) -> Iterator[list[Tree]]:
    """The same lines, with their number and speed told on standard error from time to time and at the end."""
    start = told = time.monotonic()
    sentences = lines = 0
    for trees in parsed:
        yield trees
        lines, sentences = lines + 1, sentences + len(trees)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{lines} lines, {sentences / (told - start):.0f} sentences/s", file=sys.stderr)
    seconds = max(time.monotonic() - start, 1e-9)
    print(f"{lines} lines, {sentences} sentences, {sentences / seconds:.0f} sentences/s", file=sys.stderr)
