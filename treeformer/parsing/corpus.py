"""Whole files through a parser: in constant memory, in this process or in several."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from treeformer.chunking import split_by_total
from treeformer.machine import limit_threads
from treeformer.parsing.failures import Failure
from treeformer.parsing.lifeline import blocked_interrupts, end_with_parent, ignore_interrupts
from treeformer.parsing.line_parser import LineParser

CHUNK_LINES = 1024  #: largest number of lines that are parsed together
CHUNK_CHARACTERS = 100_000  #: and of their characters


class TreeLine(NamedTuple):
    """One line of a file of trees, its number of sentences, and the failures among them.

    Processes exchange text, which they pickle much faster than trees.
    """

    text: str
    sentences: int
    failures: list[Failure]


def parse_lines(lines: Iterable[str], line_parser: LineParser, *, workers: int = 1) -> Iterator[TreeLine]:
    """The trees of each line as text, in order, by one or more processes."""
    if workers == 1:
        with line_parser:
            for chunk in line_chunks(lines):
                yield from parse_chunk(chunk, line_parser)
        return
    yield from _parse_in_processes(lines, line_parser, workers)


def _parse_in_processes(lines: Iterable[str], line_parser: LineParser, workers: int) -> Iterator[TreeLine]:
    """The trees of each line, by worker processes that end when this generator or this process does."""
    spawn = multiprocessing.get_context("spawn")
    worker_end, lifeline = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, spawn, _start_process, (line_parser, worker_end))
    started: set[BaseProcess] = set()
    try:
        waiting: deque[Future[list[TreeLine]]] = deque()
        for chunk in line_chunks(lines):  # no more chunks in memory than keep all workers busy
            with blocked_interrupts():  # submit may start a process
                others = multiprocessing.active_children()
                waiting.append(pool.submit(_parse_in_process, chunk))
                started.update(set(multiprocessing.active_children()).difference(others))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BaseException as error:
        for worker in started:  # in the middle of a chunk, or still starting
            worker.kill()
        if isinstance(error, BrokenProcessPool):
            raise ChildProcessError("a worker process died: it was killed, or memory ran out") from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        worker_end.close()


def line_chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines in chunks that are parsed together."""
    return split_by_total(lines, len, budget=CHUNK_CHARACTERS, most=CHUNK_LINES)


def parse_chunk(lines: list[str], line_parser: LineParser) -> list[TreeLine]:
    """The lines parsed, with their trees as text."""
    return [
        TreeLine(" ".join(map(str, trees)), len(trees), failures)
        for trees, failures in line_parser.parse(lines)
    ]


_line_parser: LineParser  # of a worker process


def _start_process(line_parser: LineParser, lifeline: Connection) -> None:
    global _line_parser
    ignore_interrupts()
    end_with_parent(lifeline)
    limit_threads(1)  # workers share the cores
    _line_parser = line_parser


def _parse_in_process(lines: list[str]) -> list[TreeLine]:
    return parse_chunk(lines, _line_parser)
