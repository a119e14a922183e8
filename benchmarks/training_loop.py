"""Training of a recipe with CUDA graphs and without: the same losses, and how fast each is.

    python -m benchmarks.training_loop recipes/sst5.yaml --data prepared/sst5 [--set training.bf16=true …]

First both run without dropout, and their losses are compared update by update; then both run as the recipe
says, and are timed after the first updates, in which shapes are met for the first time and graphs recorded.
How busy the GPU was is what nvidia-smi says.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
import transformers

from benchmarks.common import print_machine, synchronize
from treeformer.data.batching import BatchPlan
from treeformer.data.corpus import PreparedCorpus
from treeformer.training.experiment import (
    Shards,
    build_model,
    endless_updates,
    training_examples,
    tree_limits,
)
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe
from treeformer.training.updates import Updater


class Speed(NamedTuple):
    """What a timed stretch of training took."""

    updates: int
    seconds: float
    waiting: float
    tokens: int
    busy: float | None
    peak: int
    graphs: int


Samples = list[tuple[float, float]]  #: times of `time.perf_counter`, and how busy in percent


@contextmanager
def watched_gpu(device: str) -> Iterator[Samples]:
    """What nvidia-smi says of the GPU, ten times a second; nothing for another device or without it."""
    samples: Samples = []
    if device != "cuda" or not shutil.which("nvidia-smi"):
        yield samples
        return
    query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--id=0", "--loop-ms=100"]
    with subprocess.Popen(["nvidia-smi", *query], stdout=subprocess.PIPE, text=True) as process:

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                samples.append((time.perf_counter(), float(line)))

        threading.Thread(target=read, daemon=True).start()
        try:
            yield samples
        finally:
            process.terminate()


class Training:
    """What `treeformer.training.loop` repeats: batches and updates, no files."""

    def __init__(self, recipe: Recipe, corpus: PreparedCorpus, device: str) -> None:
        recipe = recipe.resolved()
        self.training = recipe.training
        self.device = device
        examples = training_examples(recipe, corpus)
        torch.manual_seed(1)
        model = build_model(recipe, corpus)
        limits = tree_limits(model, examples) if self.training.graphs else None
        self.plan = BatchPlan(
            examples.sizes, recipe.system.reads, self.training.tokens, seed=1, limits=limits
        )
        self.batches = endless_updates(examples, self.plan, self.training, Processes(device))
        self.updater = Updater(model.to(device).train(), self.training)
        self.step = 0

    def update(self, shards: Shards) -> None:
        for shard in shards:
            self.updater.add(shard)
        self.step += 1
        self.updater.step(self.training.rate(self.step))

    def losses(self, updates: int) -> list[float]:
        """The loss of each update."""
        found = []
        for shards in islice(self.batches, updates):
            self.update(shards)
            totals = self.updater.take_totals()
            found.append(totals.loss / totals.targets)
        return found

    def timed(self, seconds: float, warm_up: int, gpu: Samples) -> Speed:
        """How fast it is after ``warm_up`` updates."""
        for shards in islice(self.batches, warm_up):
            self.update(shards)
        synchronize(self.device)
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        first, waiting, tokens, start = self.step, 0.0, 0, time.perf_counter()
        while (before := time.perf_counter()) - start < seconds:
            shards = next(self.batches)
            waiting += time.perf_counter() - before
            masks = [
                shard[name] for shard in shards for name in ("attention_mask", "node_mask") if name in shard
            ]
            tokens += sum(int(mask.sum()) for mask in masks)
            self.update(shards)
        synchronize(self.device)
        end = time.perf_counter()
        busy = [percent for when, percent in gpu if start <= when <= end]
        return Speed(
            self.step - first,
            end - start,
            waiting,
            tokens,
            statistics.fmean(busy) if busy else None,
            torch.cuda.max_memory_allocated() if self.device == "cuda" else 0,
            self.updater.graph_count,
        )


def compare_losses(options: argparse.Namespace, corpus: PreparedCorpus) -> None:
    """Print how far losses with graphs are from those without, dropout being off."""
    losses = {}
    for graphs in (False, True):
        recipe = chosen(options, graphs, still=True)
        losses[graphs] = Training(recipe, corpus, options.device).losses(options.compared)
    apart = [abs(a - b) / abs(a) for a, b in zip(losses[False], losses[True], strict=True)]
    equal = sum(a == b for a, b in zip(losses[False], losses[True], strict=True))
    print(
        f"losses of {len(apart)} updates without dropout, {losses[False][0]:.4f} … {losses[False][-1]:.4f}: "
        f"graphs and eager differ by at most {max(apart):.1e} of the loss (median "
        f"{statistics.median(apart):.1e}, equal to the bit in {equal})"
    )
    tolerance = 2e-2 if chosen(options, True, still=True).resolved().training.bf16 else 1e-3
    if max(apart) > tolerance:
        raise SystemExit(f"expected differences below {tolerance}")


def chosen(options: argparse.Namespace, graphs: bool, *, still: bool) -> Recipe:
    """The recipe with graphs or without, and perhaps without dropout."""
    model = Recipe.load(options.recipe, options.set).model
    changes = [*options.set, f"systems.{model}.training.graphs={str(graphs).lower()}"]
    if still:
        changes += [f"systems.{model}.sizes.{name}=0.0" for name in ("dropout", "attention_dropout")]
    return Recipe.load(options.recipe, changes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="what treeformer prepare wrote")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compared", type=int, default=200, help="updates whose losses are compared")
    parser.add_argument("--warm-up", type=int, default=400, help="updates before the clock starts")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long updates are timed")
    options = parser.parse_args()
    print_machine(options.device)
    print(f"transformers {transformers.__version__}")
    corpus = PreparedCorpus.open(options.data)
    compare_losses(options, corpus)
    for graphs in (False, True) if options.device == "cuda" else (False,):
        training = Training(chosen(options, graphs, still=False), corpus, options.device)
        with watched_gpu(options.device) as gpu:
            speed = training.timed(options.seconds, options.warm_up, gpu)
        print(
            f"{'graphs' if graphs else 'eager':6}  {speed.updates / speed.seconds:8.1f} updates/s  "
            f"{speed.seconds / speed.updates * 1e3:7.2f} ms/update  "
            f"{speed.tokens / speed.seconds:10,.0f} tokens/s  "
            f"waiting for data {speed.waiting / speed.seconds:6.1%}  "
            f"GPU busy {'–' if speed.busy is None else f'{speed.busy:.0f} %'}  "
            f"peak {speed.peak / 2**20:,.0f} MiB  "
            f"{speed.graphs} graphs of {len(training.plan.shapes)} shapes"
        )


if __name__ == "__main__":
    main()
