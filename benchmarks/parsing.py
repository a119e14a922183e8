"""Parsers side by side: bracket F1 on given tokens, and sentences a second from text, in one run.

python -m benchmarks.parsing --gold masc.mrg.xz gum.test.mrg.xz --texts captions.txt --parsers en corenlp:en
python -m benchmarks.parsing --texts captions.txt --parsers en --device cuda --workers 12
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch

from treeformer import Tree, load_parser
from treeformer.evaluation import score_trees
from treeformer.parsing import Parser
from treeformer.trees import read_trees
from treeformer.trees.files import numbered_lines


def gold_trees(path: Path) -> list[Tree]:
    """The trees of a treebank without traces and function tags; unreadable lines are left out."""
    return list(read_trees(path, unary="keep", on_error=lambda error: print(f"left out: {error}")))


def score(parser: Parser, gold: list[Tree]) -> str:
    scores = score_trees(gold, parser.parse_tokens([tree.words for tree in gold])).all
    return f"F1 {scores.f1:.2f}, tags {scores.tag_accuracy:.2f}, scored {scores.valid} of {scores.sentences}"


def speed(parser: Parser, texts: list[str]) -> str:
    """Sentences a second, best of two runs over all texts after a first one that warms up."""
    parser.parse_texts(texts[:100])
    rates = []
    for _ in range(2):
        start = time.perf_counter()
        sentences = sum(map(len, parser.parse_texts(texts)))
        rates.append(sentences / (time.perf_counter() - start))
    return f"{max(rates):.0f} sentences/s"


CHUNK = 4096  # texts that a worker parses at once


def device_speed(name: str, texts: list[str], device: str, workers: int) -> str:
    """Sentences a second of several processes that share a device, from text to trees in their memory."""
    spawn = multiprocessing.get_context("spawn")
    barrier, counts = spawn.Barrier(workers + 1), spawn.Queue()
    own = [texts[rank::workers] for rank in range(workers)]
    processes = [
        spawn.Process(target=_work, args=(name, own[rank], device, barrier, counts))
        for rank in range(workers)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    start = time.perf_counter()
    sentences = sum(counts.get() for _ in processes)
    seconds = time.perf_counter() - start
    for process in processes:
        process.join()
    return f"{sentences / seconds:.0f} sentences/s on {device}, {workers} processes, {sentences} sentences"


def _work(name: str, texts: list[str], device: str, barrier: Barrier, counts: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    with load_parser(name, device=device, batch_words=32_000) as parser:
        parser.parse_texts(texts[:CHUNK])
        barrier.wait()
        counts.put(
            sum(
                sum(map(len, parser.parse_texts(texts[first : first + CHUNK])))
                for first in range(0, len(texts), CHUNK)
            )
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--gold", nargs="*", type=Path, default=[], help="treebanks")
    arguments.add_argument("--texts", nargs="*", type=Path, default=[], help="files with a text a line")
    arguments.add_argument("--parsers", nargs="+", default=["en"], help="names that load_parser knows")
    arguments.add_argument("--device", help="cuda: only the speed of workers that share it is measured")
    arguments.add_argument("--workers", nargs="*", type=int, default=[1], help="numbers of processes to try")
    options = arguments.parse_args()
    print(f"{os.cpu_count()} cores, torch {torch.__version__}")
    gold = {path.name: gold_trees(path) for path in options.gold}
    texts = {path.name: [line.strip() for _, line in numbered_lines(path)] for path in options.texts}
    if options.device:
        print(torch.cuda.get_device_name() if options.device == "cuda" else options.device)
        for name in options.parsers:
            for file, lines in texts.items():
                for workers in options.workers:
                    print(f"{name} {file} {device_speed(name, lines, options.device, workers)}", flush=True)
        return
    for name in options.parsers:
        with load_parser(name) as parser:
            for file, trees in gold.items():
                print(f"{parser.name:28} {file:24} {score(parser, trees)}", flush=True)
            for file, lines in texts.items():
                print(f"{parser.name:28} {file:24} {speed(parser, lines)}", flush=True)


if __name__ == "__main__":
    main()
