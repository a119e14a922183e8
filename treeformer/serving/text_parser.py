"""Texts to trees within the limits of the service. Nothing here loads torch."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from itertools import chain
from typing import TypeVar

from treeformer.chunking import split_by_sizes, split_by_total
from treeformer.parsing import load_parser
from treeformer.parsing.failures import Parsed
from treeformer.parsing.line_parser import LineParser, one_line
from treeformer.parsing.tokenizer import LANGUAGES, tokenize
from treeformer.serving.limits import Deadline, Limits, RefusedError, invalid
from treeformer.serving.schema import ParseRequest, ServiceRequest, TreeShape
from treeformer.trees import Tree, TreeFormatError, document, read_trees, sentences

Item = TypeVar("Item")
Result = TypeVar("Result")
_CHARACTERS = 4_000  # characters parsed between deadline checks


@dataclass(frozen=True)
class Input:
    """One text of a request, and how a model reads it.

    place: location of the text in the request, as error messages name it.
    text: the text as it was sent.
    parsed: trees that were sent, or the result of another parser; None if the model's parser must parse.
    exact: trees are not binarised.
    shape: shape of the tree; all but ``parsed`` are control trees.
    seed: seed of random trees.
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
    return [Input(place, text, tree, **options) for (place, text), tree in zip(located, trees, strict=True)]


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


def parse_inputs(
    inputs: Sequence[Input],
    parse: Callable[[list[str]], Sequence[Parsed]],
    *,
    language: str | None,
    limits: Limits,
    deadline: Deadline,
) -> list[Parsed | RefusedError]:
    """The trees of each input, or its refusal; TimeoutError after ``deadline``.

    A text that is too long is refused before it is parsed. ``language`` is None for texts of tokens.
    """
    known = [item.parsed or _text_refusal(item, language, limits) for item in inputs]
    unparsed = [item.text for item, result in zip(inputs, known, strict=True) if result is None]
    results_of_parser = work_until(deadline, unparsed, parse, size=len, budget=_CHARACTERS)
    parsed = dict(zip(unparsed, results_of_parser, strict=True))
    results: list[Parsed | RefusedError] = []
    for item, known_result in zip(inputs, known, strict=True):
        result = parsed[item.text] if known_result is None else known_result
        if isinstance(result, Parsed) and result.trees:
            result = _tree_refusal(item, document(result.trees), limits) or result
        results.append(result)
    return results


def _text_refusal(item: Input, language: str | None, limits: Limits) -> RefusedError | None:
    """Why a text is too long to be parsed, None if it is not."""
    tokens = tokenize(one_line(item.text), language) if language in LANGUAGES else [item.text.split()]
    return _size_refusal(item, limits, words=sum(map(len, tokens)), sentences=len(tokens))


def _tree_refusal(item: Input, tree: Tree, limits: Limits) -> RefusedError | None:
    """Why a tree is too large, None if it is not."""
    if len(tree) > 4 * limits.words:
        return invalid(f"{item.place}: expected at most {4 * limits.words} nodes, got {len(tree)}", "words")
    return _size_refusal(item, limits, words=len(tree.words), sentences=len(sentences(tree)))


def _size_refusal(item: Input, limits: Limits, **sizes: int) -> RefusedError | None:
    """Why an input exceeds a limit; ``sizes`` has the name of each limit and what is counted."""
    for limit, size in sizes.items():
        most = getattr(limits, limit)
        if size > most:
            return invalid(f"{item.place}: expected at most {most} {limit}, got {size}", limit)
    return None


class ParserWorker:
    """A parser that does not belong to a model, as a worker of a request queue."""

    def __init__(self, name: str, language: str, limits: Limits) -> None:
        self._line_parser = LineParser(lambda: load_parser(name))
        self._language = language
        self._limits = limits
        self._abandoned = threading.Event()

    def ready(self) -> None:
        """Return at once: the parser is loaded with the first request."""

    def __call__(
        self, requests: Sequence[ServiceRequest], seconds: float
    ) -> list[list[Parsed] | RefusedError]:
        """For each request the trees of its texts, or its refusal."""
        self._abandoned.clear()
        parse = partial(
            parse_inputs,
            parse=self._line_parser.parse,
            language=self._language,
            limits=self._limits,
            deadline=Deadline.after(seconds, self._abandoned.is_set),
        )
        return work_in_groups([inputs_of(request) for request in requests], parse)

    def abandon(self) -> None:
        """Stop the work on the current batch at its next look at the time."""
        self._abandoned.set()

    def ask_to_end(self) -> None:
        """Ask the parser to end as soon as it can."""
        self.abandon()

    def close(self, seconds: float = 5.0) -> None:
        """Close the parser; one that takes longer, such as CoreNLP while it starts, is not waited for."""
        closing = threading.Thread(target=self._line_parser.close, daemon=True)
        closing.start()
        closing.join(seconds)


def work_until(
    deadline: Deadline,
    items: Sequence[Item],
    work: Callable[[list[Item]], Sequence[Result]],
    *,
    size: Callable[[Item], int],
    budget: int,
) -> list[Result]:
    """The results of items, worked on some at a time; TimeoutError after the deadline."""
    results: list[Result] = []
    for chunk in split_by_total(items, size, budget=budget):
        deadline.check()
        results += work(chunk)
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
