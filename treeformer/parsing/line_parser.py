"""Lines of text to trees; a sentence that the parser fails on gets a flat tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from types import TracebackType
from typing import Self, TypeVar

from treeformer.chunking import split_by_sizes
from treeformer.parsing.failures import Parsed, failed, joined
from treeformer.parsing.parser import Parser
from treeformer.parsing.tokenizer import tokenize

#: Errors that a sentence may cause. All others end the run: OSError (Java is dead, a program is missing, the
#: disk is full), MemoryError, an interrupt, errors in the code.
SENTENCE_ERRORS = (ValueError, RuntimeError, LookupError, ArithmeticError)

FINAL = ".!?…"  #: a token of these characters alone ends a sentence
CLOSING = frozenset({"''", '"', "'", "”", "’", "»", ")", "]", "-RRB-"})
_SPACE = re.compile(r"[ \t\r\n]+")
_TOKEN = re.compile(r"[^ \t\r\n]+")  # tokens are separated by what separates words in a file of trees

Item = TypeVar("Item")


class LineParser:
    """Parses lines of text with a parser that is loaded on first use.

    It can be sent to another process, which then loads its own parser, before `parse` or after `close`.

    Args:
        make_parser: loads the parser.
        tokenized: lines hold tokens separated by spaces or tabs; they become the leaves of the trees.
        one_per_line: each line is one sentence, whatever its punctuation.
    """

    def __init__(
        self, make_parser: Callable[[], Parser], *, tokenized: bool = False, one_per_line: bool = False
    ) -> None:
        self.tokenized = tokenized
        self.one_per_line = one_per_line
        self._make_parser = make_parser
        self._parser: Parser | None = None

    def parse(self, lines: Sequence[str]) -> list[Parsed]:
        """Trees and failures of each line; a line without words has no trees.

        A line break in a line is a space, but to a parser of source code.

        Sentences that the parser fails on are isolated by bisection, replaced by flat trees and reported.
        """
        parser = self.load()
        if not parser.multiline:
            lines = [one_line(line) for line in lines]
        if self.tokenized or (self.one_per_line and not parser.multiline):
            return self._parse_sentences([self._sentences(line) for line in lines])
        return _bisect(parser.try_texts, lines, self._parse_by_sentence)

    def load(self) -> Parser:
        """The parser, loaded now unless it already is."""
        if self._parser is None:
            self._parser = self._make_parser()
        return self._parser

    def close(self) -> None:
        """Close the parser; the next call of `parse` loads another."""
        if self._parser is not None:
            self._parser.close()
            self._parser = None

    def __enter__(self) -> Self:
        self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sentences(self, line: str) -> list[list[str]]:
        """The tokens of each sentence of a line."""
        if not self.tokenized:
            sentences = [list(chain(*tokenize(line, self.load().language)))]
        elif self.one_per_line:
            sentences = [_TOKEN.findall(line)]
        else:
            sentences = split_tokens(_TOKEN.findall(line))
        return [sentence for sentence in sentences if sentence]

    def _parse_by_sentence(self, text: str, _: Exception) -> Parsed:
        """The text, parsed sentence by sentence because the parser failed on the whole."""
        return self._parse_sentences([tokenize(text, self.load().language)])[0]

    def _parse_sentences(self, lines: Sequence[Sequence[Sequence[str]]]) -> list[Parsed]:
        """Trees and failures of lines given as sentences of tokens."""
        parsed = _bisect(self.load().try_tokens, list(chain(*lines)), self._flat_tree)
        return [joined(sentences) for sentences in split_by_sizes(parsed, map(len, lines))]

    def _flat_tree(self, words: Sequence[str], error: Exception) -> Parsed:
        """A flat tree for a sentence at fault; raises its error if the parser fails on a full stop too."""
        try:
            self.load().parse_tokens([["."]])
        except SENTENCE_ERRORS:
            raise error from None
        return failed(words, str(error) or type(error).__name__)


def one_line(text: str) -> str:
    """The text with each run of white space replaced by one space; no-break spaces are kept."""
    return _SPACE.sub(" ", text).strip(" ")


def _bisect(
    parse: Callable[[Sequence[Item]], list[Parsed]],
    items: Sequence[Item],
    fallback: Callable[[Item, Exception], Parsed],
) -> list[Parsed]:
    """The items parsed together; halved where that fails, until ``fallback`` gets the one at fault."""
    if not items:
        return []
    try:
        return parse(items)
    except SENTENCE_ERRORS as error:
        if len(items) == 1:
            return [fallback(items[0], error)]
    half = len(items) // 2
    return _bisect(parse, items[:half], fallback) + _bisect(parse, items[half:], fallback)


def split_tokens(tokens: Sequence[str]) -> list[list[str]]:
    """Sentences of given tokens: one ends after final punctuation and the closing marks that follow it.

    >>> split_tokens("he said : “ no ! ” then he left .".split())
    [['he', 'said', ':', '“', 'no', '!', '”'], ['then', 'he', 'left', '.']]
    >>> split_tokens("what ?! no way !!!".split())
    [['what', '?!'], ['no', 'way', '!!!']]
    """
    sentences: list[list[str]] = [[]]
    ended = False
    for token in tokens:
        final = not token.strip(FINAL)
        if ended and not final and token not in CLOSING:
            sentences.append([])
            ended = False
        sentences[-1].append(token)
        ended = ended or final
    return sentences
