"""Sentences that a parser fails on: found by halving, given a flat tree, and told."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from treeformer.parsing.parser import FlatTreeWarning, Parser, flat_tree
from treeformer.parsing.tokenizer import tokenize
from treeformer.trees import Tree

#: What may be the fault of a sentence. All else ends the run: OSError (Java is dead, a program is missing,
#: the disk is full), MemoryError, an interrupt, errors in the code.
ABOUT_A_SENTENCE = (ValueError, RuntimeError, LookupError, ArithmeticError)

Item = TypeVar("Item")


@dataclass(frozen=True)
class Failure:
    """A sentence that the parser failed on, its words with spaces between them, and the reason."""

    sentence: str
    reason: str


class Parsed(NamedTuple):
    """The trees of a line, and the sentences among them whose tree is flat for want of a parse."""

    trees: list[Tree]
    failures: list[Failure]

    def to_line(self) -> TreeLine:
        """The trees as one line of text."""
        return TreeLine(" ".join(map(str, self.trees)), len(self.trees), self.failures)


class TreeLine(NamedTuple):
    """One line of a file of trees, its number of sentences, and the failures among them.

    Processes exchange text, which they pickle much faster than trees.
    """

    text: str
    sentences: int
    failures: list[Failure]


def parse_each_text(parser: Parser, texts: Sequence[str]) -> list[Parsed]:
    """Each text parsed; one that fails is parsed again sentence by sentence."""

    def attempt(texts: Sequence[str]) -> list[Parsed]:
        trees, failures = _watched(parser.parse_texts, texts)
        return list(map(Parsed, trees, failures))

    def alone(text: str, _: Exception) -> Parsed:
        return joined(parse_each_sentence(parser, tokenize(text, parser.language)))

    return _halving(attempt, texts, alone)


def parse_each_sentence(parser: Parser, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
    """Each sentence of given tokens parsed; one that fails gets a flat tree.

    An error is the sentence's if it comes when the sentence is parsed alone, is one of `ABOUT_A_SENTENCE`,
    and the parser does parse a full stop right after. Else the parser is broken, and the error is raised.
    """

    def attempt(sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        trees, failures = _watched(parser.parse_tokens, sentences)
        return [Parsed([tree], own) for tree, own in zip(trees, failures, strict=True)]

    def alone(words: Sequence[str], error: Exception) -> Parsed:
        try:
            parser.parse_tokens([["."]])
        except ABOUT_A_SENTENCE:
            raise error from None
        return Parsed([flat_tree(words)], [Failure(" ".join(words), str(error) or type(error).__name__)])

    return _halving(attempt, sentences, alone)


def joined(parts: Iterable[Parsed]) -> Parsed:
    """One line of several sentences."""
    parts = list(parts)
    return Parsed(
        [tree for part in parts for tree in part.trees],
        [failure for part in parts for failure in part.failures],
    )


def _halving(
    attempt: Callable[[Sequence[Item]], list[Parsed]],
    items: Sequence[Item],
    alone: Callable[[Item, Exception], Parsed],
) -> list[Parsed]:
    """What ``attempt`` makes of the items; where it fails, of each half; ``alone`` takes the one at fault."""
    if not items:
        return []
    try:
        return attempt(items)
    except ABOUT_A_SENTENCE as error:
        if len(items) == 1:
            return [alone(items[0], error)]
    half = len(items) // 2
    return _halving(attempt, items[:half], alone) + _halving(attempt, items[half:], alone)


Result = TypeVar("Result")


def _watched(
    parse: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]
) -> tuple[list[Result], list[list[Failure]]]:
    """What ``parse`` gives, and for each item the failures that it warned of instead of raising."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FlatTreeWarning)
        results = parse(items)
    failures: list[list[Failure]] = [[] for _ in items]
    for warning in caught:
        flat = warning.message
        if isinstance(flat, FlatTreeWarning):
            failures[flat.number].append(Failure(" ".join(flat.words), flat.reason))
        else:
            warnings.warn_explicit(flat, warning.category, warning.filename, warning.lineno)
    return results, failures
