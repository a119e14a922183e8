"""Whole files through a parser: line by line, in constant memory, and on again after an interruption."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from treeformer.parsing.parser import Parser
from treeformer.trees import Tree

CHUNK = 256  #: lines that are parsed together


def parse_lines(
    lines: Iterable[str], make_parser: Callable[[], Parser], *, tokenized: bool = False, workers: int = 1
) -> Iterator[list[Tree]]:
    """For each line the trees of its sentences, ``[]`` for a line without words.

    Args:
        lines: texts, or tokens with white space between them.
        make_parser: makes the parser, in each worker anew.
        tokenized: a line is one sentence, and its tokens are the leaves of its tree.
        workers: number of processes; with 1 it is this one.
    """
    if workers == 1:
        with make_parser() as parser:
            for chunk in _chunks(lines):
                yield from _parse(parser, chunk, tokenized)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _start_worker, (make_parser,)) as pool:
        waiting = []
        for chunk in _chunks(lines):  # no more under way than keeps all workers busy
            waiting.append(pool.submit(_work, chunk, tokenized))
            if len(waiting) > 2 * workers:
                yield from waiting.pop(0).result()
        for result in waiting:
            yield from result.result()


def write_lines(parsed: Callable[[int], Iterable[list[Tree]]], output: Path) -> int:
    """Write a line of trees for each line of input to ``output``; how many lines an earlier run had left.

    Until all is done the lines stand in ``output.partial``. What is there when a run begins is kept, a torn
    last line dropped, and ``parsed(done)`` asked for the rest.
    """
    partial = output.with_name(output.name + ".partial")
    done = _whole_lines(partial)
    with open(partial, "a", encoding="utf-8", newline="\n") as stream:
        for trees in parsed(done):
            stream.write(" ".join(map(str, trees)) + "\n")
    os.replace(partial, output)
    return done


def _whole_lines(path: Path) -> int:
    """The number of whole lines in a file; what follows the last of them is cut off."""
    if not path.exists():
        return 0
    lines = end = 0
    with open(path, "rb+") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                lines, end = lines + 1, end + len(line)
        stream.truncate(end)
    return lines


def _parse(parser: Parser, lines: list[str], tokenized: bool) -> list[list[Tree]]:
    if not tokenized:
        return parser.parse_texts(lines)
    sentences = [line.split() for line in lines]
    trees = iter(parser.parse_tokens(sentence for sentence in sentences if sentence))
    return [[next(trees)] if sentence else [] for sentence in sentences]


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    source = iter(lines)
    while chunk := list(itertools.islice(source, CHUNK)):
        yield chunk


_worker_parser: Parser


def _start_worker(make_parser: Callable[[], Parser]) -> None:
    global _worker_parser
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: workers share the cores
    _worker_parser = make_parser()


def _work(lines: list[str], tokenized: bool) -> list[list[Tree]]:
    return _parse(_worker_parser, lines, tokenized)
