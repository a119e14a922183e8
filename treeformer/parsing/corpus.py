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
from dataclasses import dataclass
from itertools import chain

from treeformer.parsing.failures import Line, Parsed, joined, parse_each_sentence, parse_each_text
from treeformer.parsing.parser import Parser
from treeformer.parsing.tokenizer import tokenize

CHUNK = 1024  #: lines that are parsed together, at most ...
CHARACTERS = 100_000  #: ... and of about this many characters
FINAL = ".!?…"  #: a token of these alone ends a sentence
CLOSING = frozenset({"''", '"', "'", "”", "’", "»", ")", "]", "-RRB-"})
_TOKEN = re.compile(r"[^ \t\r\n]+")  # what separates words in a file of trees separates tokens


@dataclass(frozen=True)
class Reading:
    """How lines become trees.

    Args:
        make_parser: makes the parser, in each process anew.
        tokenized: tokens are given, with spaces or tabs between them, and are the leaves of the trees.
        one_per_line: a line is one sentence, whatever its punctuation says.
    """

    make_parser: Callable[[], Parser]
    tokenized: bool = False
    one_per_line: bool = False

    def parse(self, parser: Parser, lines: Sequence[str]) -> list[Parsed]:
        """For each line its trees, none for a line without words; where the parser fails they are flat."""
        if not self.tokenized and not self.one_per_line:
            return parse_each_text(parser, lines)
        sentences = [self._sentences(line, parser.language) for line in lines]
        parsed = iter(parse_each_sentence(parser, list(chain(*sentences))))
        return [joined(next(parsed) for _ in parts) for parts in sentences]

    def _sentences(self, line: str, language: str) -> list[list[str]]:
        if not self.tokenized:
            sentences = [list(chain(*tokenize(line, language)))]
        elif self.one_per_line:
            sentences = [_TOKEN.findall(line)]
        else:
            sentences = split_tokens(_TOKEN.findall(line))
        return [sentence for sentence in sentences if sentence]


class Worker:
    """A parser that is made when the first lines come and parses all that follow."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._parser: Parser | None = None

    def __call__(self, lines: Sequence[str]) -> list[Line]:
        if self._parser is None:
            self._parser = self._reading.make_parser()
        return [parsed.written() for parsed in self._reading.parse(self._parser, lines)]


def parse_lines(lines: Iterable[str], reading: Reading, *, workers: int = 1) -> Iterator[Line]:
    """For each line its trees as text, in order; several ``workers`` are processes of their own."""
    if workers == 1:
        with reading.make_parser() as parser:
            for chunk in chunks(lines):
                yield from (parsed.written() for parsed in reading.parse(parser, chunk))
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, _start_worker, (reading,))
    try:
        waiting: deque[Future[list[Line]]] = deque()
        for chunk in chunks(lines):  # no more under way than keeps all workers busy
            waiting.append(pool.submit(_work, chunk))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise ChildProcessError("a worker ended before its work did: killed, or out of memory") from None
    finally:
        pool.shutdown(cancel_futures=True)


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


_worker: Worker


def _start_worker(reading: Reading) -> None:
    global _worker
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: workers share the cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started us handles it
    _worker = Worker(reading)


def _work(lines: list[str]) -> list[Line]:
    return _worker(lines)
