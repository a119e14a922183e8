"""Parsers side by side: bracket F1 on given tokens, and sentences a second from text, in one run.

python -m benchmarks.parsing --gold masc.mrg.xz gum.test.mrg.xz --texts captions.txt \
    --parsers en corenlp:en corenlp:en,model=sr --json parsing.json --plot parsing.svg
python -m benchmarks.parsing --texts captions.txt --parsers en --device cuda --workers 12

The plot has the speed on the first file of texts against the F1 on the first treebank.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psutil
import torch

from treeformer import Tree, load_parser
from treeformer.evaluation import score_trees
from treeformer.parsing import Parser
from treeformer.trees import read_trees
from treeformer.trees.files import numbered_lines

CHUNK = 4096  # texts that a worker parses at once
Row = dict[str, Any]


def gold_trees(path: Path) -> list[Tree]:
    """The trees of a treebank without traces and function tags; unreadable lines are left out."""
    return list(read_trees(path, unary="keep", on_error=lambda error: print(f"left out: {error}")))


def named_parser(name: str) -> Parser:
    """The parser of a name that `load_parser` knows, with options after commas."""
    name, *options = name.split(",")
    pairs = (option.partition("=") for option in options)
    return load_parser(name, **{key: value == "true" or value for key, _, value in pairs})


def score(parser: Parser, gold: list[Tree]) -> Row:
    scores = score_trees(gold, parser.parse_tokens([tree.words for tree in gold])).all
    return {
        "f1": round(scores.f1, 2),
        "tags": round(scores.tag_accuracy, 2),
        "scored": scores.valid,
        "sentences": scores.sentences,
    }


def speed(parser: Parser, texts: list[str]) -> Row:
    """Sentences a second, best of two runs over all texts after a first one that warms up."""
    parser.parse_texts(texts[:500])
    rates, cpu_rates = [], []
    for _ in range(2):
        start, cpu = time.perf_counter(), cpu_seconds()
        sentences = sum(map(len, parser.parse_texts(texts)))
        rates.append(sentences / (time.perf_counter() - start))
        cpu_rates.append(sentences / (cpu_seconds() - cpu))
    return {
        "sentences_a_second": round(max(rates)),
        "sentences_a_cpu_second": round(max(cpu_rates)),
        "sentences": sentences,
    }


def cpu_seconds() -> float:
    """Processor time of this process and those it started, such as the server of CoreNLP."""
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def device_speed(name: str, texts: list[str], device: str, workers: int) -> Row:
    """Sentences a second of several processes that share a device, from text to trees in their memory."""
    spawn = multiprocessing.get_context("spawn")
    barrier, counts = spawn.Barrier(workers + 1), spawn.Queue()
    processes = [
        spawn.Process(target=_work, args=(name, texts[rank::workers], device, barrier, counts))
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
    return {"sentences_a_second": round(sentences / seconds), "sentences": sentences, "workers": workers}


def _work(name: str, texts: list[str], device: str, barrier: Barrier, counts: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    with load_parser(name, device=device) as parser:
        parser.parse_texts(texts[:CHUNK])
        barrier.wait()
        chunks = (texts[first : first + CHUNK] for first in range(0, len(texts), CHUNK))
        counts.put(sum(sum(map(len, parser.parse_texts(chunk))) for chunk in chunks))


def plot(rows: list[Row], treebank: str, texts: str, output: Path) -> None:
    """One point a parser: how fast it is, and how good."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name in dict.fromkeys(row["parser"] for row in rows):
        own = {row["file"]: row for row in rows if row["parser"] == name}
        place = own[texts]["sentences_a_second"], own[treebank]["f1"]
        axes.plot(*place, "o", label=name)
    axes.set(xscale="log", xlabel=f"sentences a second, {texts}", ylabel=f"bracket F1, {treebank}")
    axes.margins(0.25)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(output, metadata={"Date": None})


def measured(options: argparse.Namespace) -> list[Row]:
    gold = {path.name: gold_trees(path) for path in options.gold}
    texts = {path.name: [line.strip() for _, line in numbered_lines(path)] for path in options.texts}
    rows: list[Row] = []

    def add(name: str, file: str, result: Row) -> None:
        rows.append({"parser": name, "file": file, **result})
        print(name, file, *(f"{key} {value}" for key, value in result.items()), sep="  ", flush=True)

    for name in options.parsers:
        if options.device:
            for file, lines in texts.items():
                for workers in options.workers:
                    add(name, file, device_speed(name, lines, options.device, workers))
            continue
        with named_parser(name) as parser:
            for file, lines in texts.items():
                add(name, file, speed(parser, lines))
            for file, trees in gold.items():
                add(name, file, score(parser, trees))
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--gold", nargs="*", type=Path, default=[], help="treebanks")
    arguments.add_argument("--texts", nargs="*", type=Path, default=[], help="files with a text a line")
    arguments.add_argument("--parsers", nargs="+", default=["en"], help="names that load_parser knows")
    arguments.add_argument("--device", help="cuda: only the speed of workers that share it is measured")
    arguments.add_argument("--workers", nargs="*", type=int, default=[1], help="numbers of processes to try")
    arguments.add_argument("--json", type=Path, help="where to write the measurements")
    arguments.add_argument("--plot", type=Path, help="where to draw speed against F1")
    options = arguments.parse_args()
    machine = {"cores": os.cpu_count(), "torch": torch.__version__}
    if options.device == "cuda":
        machine["gpu"] = torch.cuda.get_device_name()
    print(machine)
    rows = measured(options)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    if options.plot:
        plot(rows, options.gold[0].name, options.texts[0].name, options.plot)


if __name__ == "__main__":
    main()
