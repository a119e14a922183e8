"""``treeformer parser``: install and train parsers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option

app = typer.Typer(help="Install and train parsers.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Install and train parsers."""


@app.command("install")
def install(
    name: Annotated[str, typer.Argument(help="Name of the parser: corenlp.")],
    folder: Annotated[
        Path | None, typer.Option(help="Target folder; default: CORENLP_HOME, else the user's data folder.")
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(help="Language to install: en, de or fr; may be repeated. Default: en."),
    ] = None,
) -> None:
    """Install a parser with Maven. Files that are already there are not downloaded again.

    treeformer parser install corenlp --folder DIR --language en --language de
    """
    from treeformer.parsing import installation

    if name != "corenlp":
        raise ValueError(f"parser {name!r}: expected corenlp")
    installation.install(folder or installation.chosen_folder(), language or ["en"])


@app.command("train")
def train(
    recipe: option.Recipe,
    data: Annotated[Path, typer.Option(help="Folder with the files that the recipe names.")],
    output: Annotated[Path, typer.Option(help="Folder of the trained parser.")],
    device: Annotated[
        str | None, typer.Option(help="Device to compute on: cpu or cuda; default: cuda where there is one.")
    ] = None,
) -> None:
    """Train an embedded parser from a recipe.

    treeformer parser train parser-en --data DATA --output parser-en
    """
    from treeformer.training.parser_training import ParserRecipe, train_parser

    train_parser(ParserRecipe.load(recipe), data, output, device=device)


@app.command("recombine")
def recombine_trees(
    trees: Annotated[Path, typer.Argument(help="A file of trees.")],
    count: Annotated[int, typer.Option(min=1, help="Number of sentences to write.")],
    language: Annotated[str, typer.Option(help="Language of the text: en, de or fr.")] = "en",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the choice; another one gives other sentences.")
    ] = 1,
) -> None:
    """Write new sentences made of phrases of a treebank, one per line, as text for a parser to label.

    treeformer parser recombine trees.fr --count 100000 --language fr > more.fr
    """
    from treeformer.data.tokens import detokenize
    from treeformer.parsing.contractions import contract
    from treeformer.parsing.tokenizer import check_language
    from treeformer.training.recombination import recombine
    from treeformer.trees import read_trees

    check_language(language)
    problems: list[Exception] = []
    parsed = read_trees(trees, unary="keep", on_error=problems.append)
    if language == "fr":
        parsed = map(contract, parsed)
    try:
        sentences = recombine(parsed, count, seed=seed)
    finally:
        if problems:
            print(f"{len(problems)} lines skipped; the first: {problems[0]}", file=sys.stderr)
    for words in sentences:
        print(detokenize(words, language))
