"""Texts to trees by a parser, brackets to trees, and what is too large; nothing here needs torch."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import Any, TypeVar

from treeformer.data.tokens import one_line
from treeformer.parsing import Parser, load_parser
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.tokenizer import LANGUAGES, tokenize
from treeformer.serving.errors import RefusedError, bad
from treeformer.serving.limits import Limits
from treeformer.serving.questions import ParseQuestion
from treeformer.trees import Tree, TreeFormatError, document, read_trees, sentences

Parsed = TypeVar("Parsed")
_CHARACTERS = 16_000  # of texts that are parsed without a look at the clock


class ParserEngine:
    """A parser that reads the texts of several questions at once, and so a worker."""

    def __init__(self, name: str, parser: Parser | None = None) -> None:
        self._line_parser = LineParser(lambda: parser or load_parser(name))

    def ready(self) -> None:
        """A parser that was not given is loaded when it is first asked."""

    def __call__(self, asked: Sequence[Sequence[str]], seconds: float) -> list[list[list[Tree]]]:
        """For each question, and each of its texts, the trees of the sentences."""
        lines = [one_line(text) for texts in asked for text in texts]
        found = in_time(lines, self._line_parser.parse, seconds)
        return [[list(next(found).trees) for _ in texts] for texts in asked]

    def close(self) -> None:
        self._line_parser.close()


def in_time(
    texts: Sequence[str], parse: Callable[[list[str]], Sequence[Parsed]], seconds: float
) -> Iterator[Parsed]:
    """What a parser makes of texts, some of them at a time; TimeoutError when so many seconds are over."""
    end = time.monotonic() + seconds
    some: list[str] = []
    for number, text in enumerate(texts, start=1):
        some.append(text)
        if number < len(texts) and sum(map(len, some)) < _CHARACTERS:
            continue
        if time.monotonic() > end:
            raise TimeoutError
        yield from parse(some)
        some = []


def long_text(
    place: str, text: str, language: str | None, words: int, most_sentences: int
) -> RefusedError | None:
    """Why a text is too long to be parsed, None if it is not; without a language it is tokens already."""
    found = tokenize(one_line(text), language) if language in LANGUAGES else [text.split()]
    sizes = [("words", sum(map(len, found)), words), ("sentences", len(found), most_sentences)]
    return _over(place, sizes)


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
    sizes = [
        ("words", len(tree.words), words),
        ("sentences", len(sentences(tree)), most_sentences),
        ("nodes", len(tree), 4 * words),
    ]
    return _over(place, sizes)


def _over(place: str, sizes: Sequence[tuple[str, int, int]]) -> RefusedError | None:
    for name, size, most in sizes:
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


def long_texts(texts: Sequence[str], language: str, limits: Limits) -> RefusedError | None:
    """Why one of these texts is too long to be parsed, None if none is."""
    refused = (
        long_text(f"inputs[{number}]", text, language, limits.words, limits.sentences)
        for number, text in enumerate(texts)
    )
    return next(filter(None, refused), None)


def too_large(found: Sequence[Sequence[Tree]], limits: Limits) -> RefusedError | None:
    """Why the trees of some text are too large, None if they are not."""
    for number, trees in enumerate(found):
        place = f"inputs[{number}]"
        refused = over_limits(place, document(trees), limits.words, limits.sentences) if trees else None
        if refused:
            return refused
    return None
