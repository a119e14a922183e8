"""Whole files through a parser: line by line, in constant memory, and on again after an interruption."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from treeformer.parsing.parser import Parser
from treeformer.parsing.tokenizer import tokenize
from treeformer.trees import Tree

CHUNK = 256  #: lines that are parsed together
FINAL = frozenset({".", "!", "?", "...", "…"})
CLOSING = frozenset({"''", '"', "'", "”", "’", "»", ")", "]", "-RRB-"})


def parse_lines(
    lines: Iterable[str],
    make_parser: Callable[[], Parser],
    *,
    tokenized: bool = False,
    one_per_line: bool = False,
    workers: int = 1,
) -> Iterator[list[Tree]]:
    """For each line the trees of its sentences, ``[]`` for a line without words.

    Args:
        lines: texts, or tokens with white space between them.
        make_parser: makes the parser, in each worker anew.
        tokenized: tokens are given, with white space between them, and are the leaves of the trees.
        one_per_line: a line is one sentence, whatever its punctuation says.
        workers: number of processes; with 1 it is this one.
    """
    if workers == 1:
        with make_parser() as parser:
            for chunk in _chunks(lines):
                yield from _parse(parser, chunk, tokenized, one_per_line)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _start_worker, (make_parser,)) as pool:
        waiting = []
        for chunk in _chunks(lines):  # no more under way than keeps all workers busy
            waiting.append(pool.submit(_work, chunk, tokenized, one_per_line))
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


def _parse(parser: Parser, lines: list[str], tokenized: bool, one_per_line: bool) -> list[list[Tree]]:
    if not tokenized and not one_per_line:
        return parser.parse_texts(lines)
    if tokenized:
        sentences = [[line.split()] if one_per_line else split_tokens(line.split()) for line in lines]
    else:
        sentences = [[list(chain(*tokenize(line, parser.language)))] for line in lines]
    sentences = [[sentence for sentence in parts if sentence] for parts in sentences]
    trees = iter(parser.parse_tokens(chain(*sentences)))
    return [[next(trees) for _ in parts] for parts in sentences]


def split_tokens(tokens: Sequence[str]) -> list[list[str]]:
    """Sentences of given tokens: one ends after final punctuation and the closing marks that follow it.

    >>> split_tokens("he said : “ no ! ” then he left .".split())
    [['he', 'said', ':', '“', 'no', '!', '”'], ['then', 'he', 'left', '.']]
    """
    sentences: list[list[str]] = [[]]
    ended = False
    for token in tokens:
        if ended and token not in FINAL and token not in CLOSING:
            sentences.append([])
            ended = False
        sentences[-1].append(token)
        ended = ended or token in FINAL
    return sentences


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    source = iter(lines)
    while chunk := list(itertools.islice(source, CHUNK)):
        yield chunk


_worker_parser: Parser


def _start_worker(make_parser: Callable[[], Parser]) -> None:
    global _worker_parser
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: workers share the cores
    _worker_parser = make_parser()


def _work(lines: list[str], tokenized: bool, one_per_line: bool) -> list[list[Tree]]:
    return _parse(_worker_parser, lines, tokenized, one_per_line)
