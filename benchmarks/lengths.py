"""Training and inference time against sentence length, as in the paper's figure, with the plot.

    python -m benchmarks.lengths [--trees trees.en.xz] [--json lengths.json] [--plot lengths.svg]

Classifiers of the sizes of the tiny recipes, float32, batches of 32 sentences of one length. For each length
all systems take turns, round by round, so that a busy machine treats them alike; times are medians over the
rounds, and ratios medians of the ratios of each round. On a GPU training is also timed with CUDA graphs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import transformers
from torch import Tensor

from benchmarks.common import peak_bytes, print_machine, seconds, some_trees, tree_inputs, trees_argument
from treeformer import Tree
from treeformer.machine import machine
from treeformer.models.systems import SYSTEMS, build, system_named
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater
from treeformer.trees import collapse, random_tree

TINY = {"d_model": 64, "ffn_dim": 128, "encoder_layers": 2, "attention_heads": 4}
SIZES = {"transformer": TINY, "tree-transformer": TINY}  # of other systems d_model alone
VOCABULARY, LABELS, CLASSES = 8000, 104, 5
TRAINING, GRAPHS, INFERENCE = "training", "training, graphs", "inference"
WARM_UP = 3  # graphs are recorded when a shape comes for the second time

Batch = dict[str, Tensor]
Work = Callable[[], None]


class Measurement(NamedTuple):
    """What one batch takes."""

    length: int
    work: str
    system: str
    milliseconds: float
    sentences_a_second: float
    ratio: float  #: of the time to that of the first system
    lowest: float  #: the same ratio in the best round
    highest: float
    peak_bytes: int  #: GPU memory on top of weights and optimiser; 0 where it is not measured


class Candidate:
    """A classifier with fresh weights, and what is timed of it."""

    def __init__(self, name: str, device: str, *, graphs: bool) -> None:
        system = system_named(name)
        torch.manual_seed(1)
        self.reads = system.reads
        self.model = build(
            system,
            "classification",
            SIZES.get(name, {"d_model": TINY["d_model"]}),
            vocab_size=VOCABULARY,
            node_vocab_size=LABELS,
            classes=[str(number) for number in range(CLASSES)],
        )
        training = TrainingRecipe(updates=1, tokens=1, learning_rate=1e-4, graphs=graphs)
        self.updater = Updater(self.model.to(device).train(), training)

    def inputs(self, batch: Batch) -> Batch:
        """What this system reads of a batch."""
        return {
            name: tensor
            for name, tensor in batch.items()
            if self.reads == "trees" or not name.startswith("node")
        }

    def update(self, batch: Batch) -> None:
        """One update of training."""
        self.updater.add(batch)
        self.updater.step(1e-4)

    @torch.no_grad()
    def answer(self, batch: Batch) -> None:
        """One forward pass."""
        self.model.eval()
        self.model(**{name: tensor for name, tensor in batch.items() if name != "labels"})
        self.model.train()


def sentences_of(trees: list[Tree], length: int, count: int) -> list[Tree]:
    """``count`` trees of so many words: the shortest that are as long, cut to it; with none given, random."""
    if not trees:
        return [random_tree(["word"] * length, seed) for seed in range(count)]
    longer = sorted((tree for tree in trees if len(tree.words) >= length), key=lambda tree: len(tree.words))
    if not longer:
        raise SystemExit(f"--trees: expected trees of {length} words or more, found none")
    return [cut(longer[number % len(longer)], length) for number in range(count)]


def cut(tree: Tree, length: int) -> Tree:
    """The first words of a tree, and what is left of its phrases."""
    kept = [
        (label, (start, min(end, length)))
        for label, (start, end) in zip(tree.labels, tree.spans, strict=True)
        if start < length
    ]
    labels, spans = zip(*kept, strict=True)
    return collapse(Tree(tree.words[:length], tree.tags[:length], labels, spans))


def batch_of(trees: list[Tree], device: str) -> Batch:
    """Random words, labels of nodes and classes over these trees, without padding to a multiple."""
    torch.manual_seed(1)
    batch = tree_inputs(trees, VOCABULARY, LABELS, multiple=1)
    batch["labels"] = torch.randint(CLASSES, (len(trees),))
    return {name: tensor.to(device) for name, tensor in batch.items()}


def works_of(
    eager: dict[str, Candidate], graphed: dict[str, Candidate], batch: Batch
) -> dict[tuple[str, str], Work]:
    """All that is timed on a batch, by work and system."""
    works: dict[tuple[str, str], Work] = {}
    for kind, candidates in ((TRAINING, eager), (GRAPHS, graphed), (INFERENCE, eager)):
        for name, candidate in candidates.items():
            work = candidate.answer if kind == INFERENCE else candidate.update
            works[kind, name] = partial(work, candidate.inputs(batch))
    return works


def warmed_up(works: dict[tuple[str, str], Work]) -> dict[tuple[str, str], Work]:
    """The same, each done a few times, without what no graph can hold."""
    able = {}
    for (kind, name), work in works.items():
        try:
            for _ in range(WARM_UP):
                work()
        except RuntimeError as error:
            if kind != GRAPHS:
                raise
            print(f"{name}: no CUDA graph ({str(error).splitlines()[0]})")
            continue
        able[kind, name] = work
    return able


def measured(
    works: dict[tuple[str, str], Work], length: int, sentences: int, device: str, rounds: int
) -> list[Measurement]:
    """The time of each work, taken in turns."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            times[key].append(seconds(work, device, repeat=1, warm_up=0))
    first = {kind: name for kind, name in reversed(works)}
    rows = []
    for (kind, name), own in times.items():
        ratios = [a / b for a, b in zip(own, times[kind, first[kind]], strict=True)]
        median = statistics.median(own)
        peak = peak_bytes(works[kind, name]) if device == "cuda" and kind != GRAPHS else 0
        rows.append(
            Measurement(
                length,
                kind,
                name,
                median * 1e3,
                sentences / median,
                statistics.median(ratios),
                min(ratios),
                max(ratios),
                peak,
            )
        )
    return rows


def show(row: Measurement) -> None:
    memory = f"  peak {row.peak_bytes / 2**20:7.1f} MiB" if row.peak_bytes else ""
    print(
        f"{row.length:5}  {row.work:16}  {row.system:16}  {row.milliseconds:9.2f} ms  "
        f"{row.sentences_a_second:10,.0f} sentences/s  {row.ratio:6.2f} x "
        f"(rounds {row.lowest:.2f} … {row.highest:.2f}){memory}",
        flush=True,
    )


def plot(rows: list[Measurement], title: str, output: Path) -> None:
    """Two panels, training and inference: the time of a batch against the length of its sentences."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    names = list(dict.fromkeys(row.system for row in rows))
    for axes, kinds in zip(panels, ((TRAINING, GRAPHS), (INFERENCE,)), strict=True):
        for kind in kinds:
            for number, name in enumerate(names):
                own = [row for row in rows if (row.work, row.system) == (kind, name)]
                if own:
                    axes.plot(
                        [row.length for row in own],
                        [row.milliseconds for row in own],
                        "o--" if kind == GRAPHS else "o-",
                        color=f"C{number}",
                        markersize=3,
                        label=f"{name}, CUDA graphs" if kind == GRAPHS else name,
                    )
        axes.set(title=kinds[0], xlabel="words of a sentence", ylabel="ms a batch")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(title, fontsize="medium")
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)


def chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    trees_argument(parser)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(range(10, 101, 10)), help="in words")
    parser.add_argument(
        "--systems",
        nargs="+",
        choices=list(SYSTEMS),
        default=["transformer", "tree-lstm", "tree-transformer"],
    )
    parser.add_argument("--sentences", type=int, default=32, help="sentences a batch")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="where to write the measurements")
    parser.add_argument("--plot", type=Path, help="where to draw them, as SVG or what else matplotlib knows")
    options = parser.parse_args()
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib: pip install 'treeformer[plot]'")
    return options


def main() -> None:
    options = chosen()
    device = options.device
    print_machine(device)
    print(f"transformers {transformers.__version__}")
    trees = some_trees(options.trees, 20000, leaves=(min(options.lengths), 10**6)) if options.trees else []
    eager = {name: Candidate(name, device, graphs=False) for name in options.systems}
    graphed = {name: Candidate(name, device, graphs=True) for name in options.systems if device == "cuda"}
    for name, candidate in eager.items():
        print(f"{name}: {sum(parameter.numel() for parameter in candidate.model.parameters()):,} parameters")
    source = options.trees.name if options.trees else "random binary trees"
    print(f"{options.sentences} sentences a batch, {source}; ratios are to {options.systems[0]}")
    rows = []
    for length in options.lengths:
        batch = batch_of(sentences_of(trees, length, options.sentences), device)
        works = warmed_up(works_of(eager, graphed, batch))
        for row in measured(works, length, options.sentences, device, options.rounds):
            show(row)
            rows.append(row)
    told = machine(torch.device(device))
    if options.json:
        settings = {"sentences": options.sentences, "rounds": options.rounds, "trees": source}
        settings["threads"] = torch.get_num_threads()
        content = {"machine": told, "settings": settings, "rows": [row._asdict() for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    if options.plot:
        plot(rows, f"{options.sentences} sentences a batch, {source}, {told['device']}", options.plot)


if __name__ == "__main__":
    main()
