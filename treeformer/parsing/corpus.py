"""Whole files through a parser: line by line and in constant memory, in this process or in many."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from types import TracebackType
from typing import Self

from treeformer.parsing.failures import Parsed, TreeLine, joined, parse_each_sentence, parse_each_text
from treeformer.parsing.parser import Parser
from treeformer.parsing.tokenizer import tokenize

CHUNK = 1024  #: lines that are parsed together, at most ...
CHARACTERS = 100_000  #: ... and of about this many characters
FINAL = ".!?…"  #: a token of these alone ends a sentence
CLOSING = frozenset({"''", '"', "'", "”", "’", "»", ")", "]", "-RRB-"})
_TOKEN = re.compile(r"[^ \t\r\n]+")  # what separates words in a file of trees separates tokens


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
        """Trees and failures of each line; a line without words has no trees."""
        parser = self.load()
        if not self.tokenized and not self.one_per_line:
            return parse_each_text(parser, lines)
        sentences = [self._sentences(line, parser.language) for line in lines]
        parsed = iter(parse_each_sentence(parser, list(chain(*sentences))))
        return [joined(next(parsed) for _ in parts) for parts in sentences]

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

    def _sentences(self, line: str, language: str) -> list[list[str]]:
        if not self.tokenized:
            sentences = [list(chain(*tokenize(line, language)))]
        elif self.one_per_line:
            sentences = [_TOKEN.findall(line)]
        else:
            sentences = split_tokens(_TOKEN.findall(line))
        return [sentence for sentence in sentences if sentence]


def parse_lines(lines: Iterable[str], line_parser: LineParser, *, workers: int = 1) -> Iterator[TreeLine]:
    """The trees of each line as text, in order; more than one worker means that many processes."""
    if workers == 1:
        with line_parser:
            for chunk in chunks(lines):
                yield from tree_lines(line_parser, chunk)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, _start_process, (line_parser,))
    try:
        waiting: deque[Future[list[TreeLine]]] = deque()
        for chunk in chunks(lines):  # no more chunks in memory than keep all workers busy
            waiting.append(pool.submit(_parse_in_process, chunk))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise ChildProcessError("a worker ended before its work did: killed, or out of memory") from None
    finally:
        pool.shutdown(cancel_futures=True)


def tree_lines(line_parser: LineParser, lines: Sequence[str]) -> list[TreeLine]:
    """The lines parsed, with their trees as text."""
    return [parsed.to_line() for parsed in line_parser.parse(lines)]


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


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines in runs of `CHUNK`, or fewer where they are long."""
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == CHUNK or characters >= CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


_line_parser: LineParser  # of a worker process


def _start_process(line_parser: LineParser) -> None:
    global _line_parser
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: workers share the cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles it
    _line_parser = line_parser


def _parse_in_process(lines: list[str]) -> list[TreeLine]:
    return tree_lines(_line_parser, lines)
