"""Texts to trees within the limits of the service. Nothing here loads torch."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from typing import TypeVar

from treeformer.chunking import split_by_sizes, split_by_total
from treeformer.data.tokens import one_line
from treeformer.parsing import load_parser
from treeformer.parsing.failures import Parsed
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.tokenizer import LANGUAGES, tokenize
from treeformer.serving.limits import Limits, RefusedError, invalid
from treeformer.serving.schema import ParseRequest, ServiceRequest, TreeShape
from treeformer.trees import Tree, TreeFormatError, document, read_trees, sentences

Item = TypeVar("Item")
Result = TypeVar("Result")
_CHARACTERS = 16_000  # parsed between two looks at the clock


@dataclass(frozen=True)
class Input:
    """One text of a request, and how a model reads it.

    place: of the text in the request, as error messages name it.
    text: as it was sent.
    parsed: trees that were sent or that another parser has made; None if the model's parser must parse.
    exact: trees are not made binary.
    shape: of the tree; all but ``parsed`` are control trees.
    seed: of random trees.
    """

    place: str
    text: str
    parsed: Parsed | None = None
    exact: bool = False
    shape: TreeShape = "parsed"
    seed: int = 1


def inputs_of(request: ServiceRequest, parsed: Sequence[Parsed] | None = None) -> list[Input] | RefusedError:
    """The inputs of a request; a refusal where brackets cannot be read.

    ``parsed`` holds the parsed texts if a parser other than that of the model was asked for.
    """
    options = request.model_dump(include={"exact", "shape", "seed"})
    located = request.located_texts()
    try:
        if not isinstance(request, ParseRequest) and request.trees:
            parsed = [Parsed(list(sentences(_read_brackets(*pair))), []) for pair in located]
    except RefusedError as error:
        return error
    trees = [None] * len(located) if parsed is None else parsed
    return [Input(place, text, own, **options) for (place, text), own in zip(located, trees, strict=True)]


def work_in_groups(
    groups: Sequence[list[Item] | RefusedError], work: Callable[[list[Item]], Sequence[Result | RefusedError]]
) -> list[list[Result] | RefusedError]:
    """The results of all items at once, by group; a group with a refused item is refused."""
    items = [[] if isinstance(group, RefusedError) else group for group in groups]
    results = split_by_sizes(work(list(chain(*items))), map(len, items))
    answers: list[list[Result] | RefusedError] = []
    for group, group_results in zip(groups, results, strict=True):
        refusals = [item for item in (group, *group_results) if isinstance(item, RefusedError)]
        answered = [result for result in group_results if not isinstance(result, RefusedError)]
        answers.append(refusals[0] if refusals else answered)
    return answers


class TextParser:
    """Parses inputs within the limits; a text that is too long is refused before it is parsed.

    Args:
        parse: texts to trees.
        language: of the texts; None where they are tokens already.
        limits: of the service.
    """

    def __init__(
        self, parse: Callable[[list[str]], Sequence[Parsed]], language: str | None, limits: Limits
    ) -> None:
        self._parse = parse
        self._language = language
        self._limits = limits

    def __call__(
        self, inputs: Sequence[Input], deadline: float, *, words: int | None = None
    ) -> list[Parsed | RefusedError]:
        """The trees of each input or its refusal; TimeoutError after ``deadline``.

        ``words`` limits the length of a text; by default the limit of the service does.
        """
        words = words or self._limits.words
        results = [item.parsed or self._text_refusal(item, words) for item in inputs]
        missing = [number for number, result in enumerate(results) if result is None]
        texts = [inputs[number].text for number in missing]
        for number, parsed in zip(missing, parse_until(deadline, texts, self._parse), strict=True):
            results[number] = parsed
        return [self._checked(*pair, words) for pair in zip(inputs, results, strict=True)]

    def _text_refusal(self, item: Input, words: int) -> RefusedError | None:
        """Why a text is too long to be parsed, None if it is not."""
        if self._language in LANGUAGES:
            tokens = tokenize(one_line(item.text), self._language)
        else:
            tokens = [item.text.split()]
        return self._size_refusal(item, words, sum(map(len, tokens)), len(tokens))

    def _checked(
        self, item: Input, result: Parsed | RefusedError | None, words: int
    ) -> Parsed | RefusedError:
        """The result, or the refusal of trees that are too large."""
        assert result is not None
        if isinstance(result, RefusedError) or not result.trees:
            return result
        tree = document(result.trees)
        refusal = self._size_refusal(item, words, len(tree.words), len(sentences(tree)), len(tree))
        return refusal or result

    def _size_refusal(
        self, item: Input, words: int, word_count: int, sentence_count: int, node_count: int = 0
    ) -> RefusedError | None:
        for name, count, most, limit in [
            ("words", word_count, words, "words"),
            ("sentences", sentence_count, self._limits.sentences, "sentences"),
            ("nodes", node_count, 4 * words, "words"),
        ]:
            if count > most:
                return invalid(f"{item.place}: expected at most {most} {name}, got {count}", limit)
        return None


class ParserWorker:
    """A parser that is no part of a model, as a worker of a request queue."""

    def __init__(self, name: str, language: str, limits: Limits) -> None:
        self._line_parser = LineParser(lambda: load_parser(name))
        self._parser = TextParser(line_parse(self._line_parser), language, limits)

    def ready(self) -> None:
        """Return at once: the parser is loaded with the first request."""

    def __call__(
        self, requests: Sequence[ServiceRequest], seconds: float
    ) -> list[list[Parsed] | RefusedError]:
        """For each request the trees of its texts, or its refusal."""
        deadline = time.monotonic() + seconds
        return work_in_groups(list(map(inputs_of, requests)), lambda items: self._parser(items, deadline))

    def close(self) -> None:
        self._line_parser.close()


def line_parse(line_parser: LineParser) -> Callable[[list[str]], list[Parsed]]:
    """A function that parses texts, which may have several lines, with a line parser."""
    return lambda texts: line_parser.parse([one_line(text) for text in texts])


def parse_until(
    deadline: float, texts: Sequence[str], parse: Callable[[list[str]], Sequence[Result]]
) -> list[Result]:
    """The texts parsed, some at a time; TimeoutError after ``deadline``, a time of `time.monotonic`."""
    results: list[Result] = []
    for chunk in split_by_total(texts, len, budget=_CHARACTERS):
        if time.monotonic() > deadline:
            raise TimeoutError
        results += parse(chunk)
    return results


def corenlp_is_installed(language: str) -> bool:
    """Whether Java and CoreNLP for a language are installed."""
    from treeformer.parsing import installation

    try:
        installation.find(language, None)
    except (ValueError, OSError):
        return False
    return shutil.which("java") is not None


def _read_brackets(place: str, text: str) -> Tree:
    """The tree in a text of brackets, several under one ``DOC``; RefusedError where there is none."""
    try:
        trees = list(read_trees(StringIO(text), unary="keep"))
    except TreeFormatError as error:
        raise invalid(f"{place}: line {error.line}, column {error.column}: {error.problem}") from error
    if not trees:
        raise invalid(f"{place}: expected a tree in brackets, got none")
    return document(trees)
