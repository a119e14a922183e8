"""``treeformer parser``: what parsers need before they parse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from treeformer.parsing import installation

app = typer.Typer(help="Install and train parsers.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Install and train parsers."""


@app.command("install")
def install(
    name: Annotated[str, typer.Argument(help="The parser: corenlp.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to put it; default: CORENLP_HOME, else the user's data folder.")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="en, de or fr; may be given several times. Default: en.")
    ] = None,
) -> None:
    """Install a parser through Maven; nothing is fetched twice.

    treeformer parser install corenlp --folder DIR --language en --language de
    """
    if name != "corenlp":
        raise ValueError(f"parser {name!r}: expected corenlp")
    installation.install(folder or installation.chosen_folder(), language or ["en"])


@app.command("train")
def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe such as recipes/parser-en.yaml.")],
    data: Annotated[Path, typer.Option(help="The folder that holds the recipe's files.")],
    output: Annotated[Path, typer.Option(help="The folder for the trained parser.")],
    device: Annotated[str | None, typer.Option(help="cpu or cuda; default: cuda where there is one.")] = None,
) -> None:
    """Train an embedded parser from a recipe.

    treeformer parser train recipes/parser-en.yaml --data DATA --output parser-en
    """
    import torch

    from treeformer.training.parser_training import ParserRecipe, train_parser

    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    train_parser(ParserRecipe.load(recipe), data, output, device=chosen)


@app.command("recombine")
def recombine(
    trees: Annotated[Path, typer.Argument(help="A file of trees.")],
    count: Annotated[int, typer.Option(min=1, help="How many sentences to make.")],
    language: Annotated[str, typer.Option(help="Of the text: en, de or fr.")] = "en",
    seed: Annotated[int, typer.Option(min=0, help="Another one gives other sentences.")] = 1,
) -> None:
    """Write new sentences made of the phrases of old ones, one a line, for a parser to make trees of.

    treeformer parser recombine trees.fr --count 100000 --language fr > more.fr
    """
    from treeformer.data.tokens import detokenize
    from treeformer.parsing.contractions import contract
    from treeformer.parsing.tokenizer import check_language
    from treeformer.training.recombination import recombined
    from treeformer.trees import read_trees

    check_language(language)
    problems: list[Exception] = []
    found = read_trees(trees, unary="keep", on_error=problems.append)
    try:
        sentences = recombined(map(contract, found) if language == "fr" else found, count, seed=seed)
    finally:
        if problems:
            print(f"{len(problems)} lines left out; the first: {problems[0]}", file=sys.stderr)
    for words in sentences:
        print(detokenize(words, language))
