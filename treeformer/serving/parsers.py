"""Texts to trees by a parser, brackets to trees, and what is too large; nothing here needs torch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from io import StringIO
from typing import Any

from treeformer.data.tokens import one_line
from treeformer.parsing import Parser, load_parser
from treeformer.parsing.corpus import Reading
from treeformer.serving.errors import RefusedError, bad
from treeformer.serving.limits import Limits
from treeformer.serving.questions import ParseQuestion
from treeformer.trees import Tree, TreeFormatError, document, read_trees, sentences


class ParserEngine:
    """A parser that reads the texts of several questions at once, and so a worker."""

    def __init__(self, name: str, parser: Parser | None = None) -> None:
        self._name = name
        self._parser = parser

    def ready(self) -> None:
        """A parser that was not given is loaded when it is first asked."""

    def __call__(self, asked: Sequence[Sequence[str]], seconds: float) -> list[list[list[Tree]]]:
        """For each question, and each of its texts, the trees of the sentences."""
        if self._parser is None:
            self._parser = load_parser(self._name)
        reading = Reading(lambda: load_parser(self._name))
        lines = [one_line(text) for texts in asked for text in texts]
        found = iter(reading.parse(self._parser, lines))
        return [[list(next(found).trees) for _ in texts] for texts in asked]

    def close(self) -> None:
        if self._parser is not None:
            self._parser.close()


def tree_of(text: str, place: str) -> Tree:
    """The tree in a text of brackets, several under one ``DOC``; refused where the text is none."""
    try:
        found = list(read_trees(StringIO(text), unary="keep"))
    except TreeFormatError as error:
        raise bad(f"{place}: line {error.line}, column {error.column}: {error.problem}") from error
    if not found:
        raise bad(f"{place}: expected a tree in brackets, got none")
    return document(found)


def over_limits(place: str, tree: Tree, words: int, most_sentences: int) -> RefusedError | None:
    """Why a tree is too large, None if it is not."""
    found = [
        ("words", len(tree.words), words),
        ("sentences", len(sentences(tree)), most_sentences),
        ("nodes", len(tree), 4 * words),
    ]
    for name, size, most in found:
        if size > most:
            limit = "sentences" if name == "sentences" else "words"
            return bad(f"{place}: expected at most {most} {name}, got {size}", limit)
    return None


def corenlp_is_here(language: str) -> bool:
    """Whether Java and CoreNLP for a language are installed."""
    from treeformer.parsing import installation

    try:
        installation.find(language, None)
    except (ValueError, OSError):
        return False
    return shutil.which("java") is not None


def parsed_answer(question: ParseQuestion, found: Sequence[Sequence[Tree]]) -> dict[str, Any]:
    """The answer to a question whose texts have been parsed."""
    pairs = zip(question.inputs, found, strict=True)
    answers = [{"text": text, "trees": [str(tree) for tree in trees]} for text, trees in pairs]
    return {"parser": question.parser, "answers": answers}


def too_large(found: Sequence[Sequence[Tree]], limits: Limits) -> RefusedError | None:
    """Why the trees of some text are too large, None if they are not."""
    for number, trees in enumerate(found):
        place = f"inputs[{number}]"
        refused = over_limits(place, document(trees), limits.words, limits.sentences) if trees else None
        if refused:
            return refused
    return None
