"""Training and inference time against sentence length, as in the paper's figure, and the cost of parsing.

Classifiers of the sizes of the tiny recipes, float32, batches of sentences of one length. For each length all
systems take turns, round by round, so that a busy machine treats them alike; times are medians over the
rounds, and ratios medians of the ratios of each round. On a GPU training is also timed with CUDA graphs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from treeformer.analysis.timing import peak_bytes, seconds, tree_inputs
from treeformer.data.sample import find_file
from treeformer.machine import machine
from treeformer.models.systems import build, system_named
from treeformer.parsing import load_parser
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater
from treeformer.trees import Tree, collapse, document, random_tree, read_tree_lines

SYSTEMS = ("transformer", "tree-lstm", "tree-transformer")  #: ratios are to the first
TINY = {"d_model": 64, "ffn_dim": 128, "encoder_layers": 2, "attention_heads": 4}
SIZES = {"transformer": TINY, "tree-transformer": TINY}  # of other systems d_model alone
VOCABULARY, LABELS, CLASSES = 8000, 104, 5
TRAINING, GRAPHS, INFERENCE = "training", "training, graphs", "inference"
TREES = "trees/europarl-en-de.train-100k.en"  #: long sentences, if the data has them
_WARM_UP = 3  # graphs are recorded when a shape comes for the second time
_LOOKED_AT = 20_000  # lines of the file of trees

Batch = dict[str, Tensor]
Work = Callable[[], None]


class Settings(NamedTuple):
    """What is measured."""

    lengths: Sequence[int] = tuple(range(10, 101, 10))
    sentences: int = 32
    rounds: int = 20


QUICK = Settings((10, 20, 40), 16, 3)


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
        torch.nn.Module.to(self.model, device).train()
        self.updater = Updater(self.model, training)

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
        self.model.train(False)
        self.model(**{name: tensor for name, tensor in batch.items() if name != "labels"})
        self.model.train()


def measure_speed(
    settings: Settings, device: str, data: Path | None, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Times, memory and the cost of parsing for each length."""
    trees, source = _trees(data, min(settings.lengths))
    eager = {name: Candidate(name, device, graphs=False) for name in SYSTEMS}
    graphed = {name: Candidate(name, device, graphs=True) for name in SYSTEMS if device == "cuda"}
    rows, parsing = [], []
    with load_parser("en") as parser:
        for length in settings.lengths:
            chosen = sentences_of(trees, length, settings.sentences)
            works = _warmed_up(_works(eager, graphed, _batch(chosen, device)), tell)
            rows += [row._asdict() for row in _measured(works, length, settings, device)]
            words = [tree.words for tree in chosen]
            taken = seconds(partial(parser.parse_tokens, words), "cpu", repeat=3, warm_up=1) / len(words)
            parsing.append({"length": length, "seconds_a_sentence": taken})
            tell(f"{length} words: measured")
        parsed_by = parser.name
    return {
        "rows": rows,
        "parsing": parsing,
        "settings": {
            **settings._asdict(),
            "width": TINY["d_model"],
            "trees": source,
            "parser": parsed_by,
            "threads": torch.get_num_threads(),
        },
        **machine(torch.device(device)),
    }


def _trees(data: Path | None, shortest: int) -> tuple[list[Tree], str]:
    """Real trees if the data has them, and where they are from."""
    path = None if data is None else find_file(data, TREES)
    if path is None:
        return [], "random binary trees"
    found = []
    for number, trees in enumerate(read_tree_lines(path)):
        if number == _LOOKED_AT:
            break
        if trees and sum(len(tree.words) for tree in trees) >= shortest:
            found.append(document(trees))
    return found, path.name


def sentences_of(trees: Sequence[Tree], length: int, count: int) -> list[Tree]:
    """``count`` trees of so many words: the shortest that are as long, cut to it; with none given, random."""
    longer = sorted((tree for tree in trees if len(tree.words) >= length), key=lambda tree: len(tree.words))
    if not longer:
        return [random_tree(["word"] * length, seed) for seed in range(count)]
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


def _batch(trees: Sequence[Tree], device: str) -> Batch:
    """Random words, labels of nodes and classes over these trees, without padding to a multiple."""
    torch.manual_seed(1)
    batch = tree_inputs(trees, VOCABULARY, LABELS, multiple=1)
    batch["labels"] = torch.randint(CLASSES, (len(trees),))
    return {name: tensor.to(device) for name, tensor in batch.items()}


def _works(
    eager: dict[str, Candidate], graphed: dict[str, Candidate], batch: Batch
) -> Iterator[tuple[str, str, Work]]:
    """All that is timed on a batch, with its kind and system."""
    for kind, candidates in ((TRAINING, eager), (GRAPHS, graphed), (INFERENCE, eager)):
        for name, candidate in candidates.items():
            work = candidate.answer if kind == INFERENCE else candidate.update
            yield kind, name, partial(work, candidate.inputs(batch))


def _warmed_up(
    works: Iterator[tuple[str, str, Work]], tell: Callable[[str], None]
) -> dict[tuple[str, str], Work]:
    """The same, each done a few times, without what no graph can hold."""
    able = {}
    for kind, name, work in works:
        try:
            for _ in range(_WARM_UP):
                work()
        except RuntimeError as error:
            if kind != GRAPHS:
                raise
            tell(f"{name}: no CUDA graph ({str(error).splitlines()[0]})")
            continue
        able[kind, name] = work
    return able


def _measured(
    works: dict[tuple[str, str], Work], length: int, settings: Settings, device: str
) -> Iterator[Measurement]:
    """The time of each work, taken in turns."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for _ in range(settings.rounds):
        for key, work in works.items():
            times[key].append(seconds(work, device, repeat=1, warm_up=0))
    first = {kind: name for kind, name in reversed(works)}
    for (kind, name), own in times.items():
        ratios = [a / b for a, b in zip(own, times[kind, first[kind]], strict=True)]
        median = statistics.median(own)
        peak = peak_bytes(works[kind, name]) if device == "cuda" and kind != GRAPHS else 0
        yield Measurement(
            length,
            kind,
            name,
            median * 1e3,
            settings.sentences / median,
            statistics.median(ratios),
            min(ratios),
            max(ratios),
            peak,
        )
