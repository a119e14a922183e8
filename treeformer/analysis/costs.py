"""What models cost: parameters, time and memory against sentence length, and the time to parse.

Speed is measured with classifiers of the sizes of the tiny recipes, in float32, on batches of sentences of
one length. All systems take turns, round by round, so that a busy machine affects them alike. Times are
medians over the rounds; ratios are medians of the ratios within a round. On a GPU training is also timed with
CUDA graphs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from treeformer.analysis.results import (
    MachineSpeed,
    Parameters,
    ParsingTime,
    SpeedSettings,
    SystemParameters,
    Timing,
)
from treeformer.data.corpus import MANIFEST, Manifest
from treeformer.data.recipe import Subwords
from treeformer.data.sample import find_file
from treeformer.machine import machine
from treeformer.models.systems import build, system_named
from treeformer.ops import TreeBatch
from treeformer.parsing import load_parser
from treeformer.progress import Progress
from treeformer.training.recipe import Recipe, TrainingRecipe
from treeformer.training.updates import Updater
from treeformer.trees import Tree, collapse, document, random_tree, read_tree_lines

SYSTEMS = ("transformer", "tree-lstm", "tree-transformer")  #: ratios are relative to the first
TINY = {"d_model": 64, "ffn_dim": 128, "encoder_layers": 2, "attention_heads": 4}
SIZES = {"transformer": TINY, "tree-transformer": TINY}  # other systems only have d_model
VOCABULARY, LABELS, CLASSES = 8000, 104, 5
TRAINING, GRAPHS, INFERENCE = "training", "training, graphs", "inference"
TREES = "trees/europarl-en-de.train-100k.en"  #: trees of long sentences, used if the data has them
_WARM_UP = 3  # a CUDA graph is recorded when a shape occurs for the second time
_LINES_READ = 20_000  # of the file of trees
_TABLE_ROWS, _TABLE_LABELS = 34_392, 92  # tokens and labels of the paper's embedding table
_BASE = {"d_model": 512, "ffn_dim": 2048, "encoder_layers": 6, "decoder_layers": 6, "attention_heads": 8}
_OTHER_RECIPES = ("demo", "labelled", "parser-")  # prefixes of recipes that are not the paper's experiments

Batch = dict[str, Tensor]
Work = Callable[[], None]


class Settings(NamedTuple):
    """Lengths of sentences, number of sentences in a batch, number of rounds."""

    lengths: Sequence[int] = tuple(range(10, 101, 10))
    sentences: int = 32
    rounds: int = 20


QUICK = Settings((10, 20, 40), 16, 3)


class Candidate:
    """A classifier with random weights whose training and inference are timed."""

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
        """The tensors of a batch that this system reads."""
        if self.reads == "trees":
            return batch
        return {name: tensor for name, tensor in batch.items() if not name.startswith("node")}

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


def measure_speed(settings: Settings, device: str, data: Path | None, progress: Progress) -> MachineSpeed:
    """Measure times, memory and the cost of parsing for each length."""
    trees, source = _trees(data, min(settings.lengths))
    eager = {name: Candidate(name, device, graphs=False) for name in SYSTEMS}
    graphed = {name: Candidate(name, device, graphs=True) for name in SYSTEMS if device == "cuda"}
    rows: list[Timing] = []
    parsing = []
    with load_parser("en") as parser:
        for length in settings.lengths:
            chosen = sentences_of(trees, length, settings.sentences)
            works = _works(eager, graphed, _batch(chosen, device), progress)
            rows += _timings(works, length, settings, device)
            parse = partial(parser.parse_tokens, [tree.words for tree in chosen])
            taken = seconds(parse, "cpu", repeat=3, warm_up=1) / len(chosen)
            parsing.append(ParsingTime(length=length, seconds_a_sentence=taken))
            progress.log(f"{length} words: measured")
        parser_name = parser.name
    used = SpeedSettings(
        **settings._asdict(),
        width=TINY["d_model"],
        trees=source,
        parser=parser_name,
        threads=torch.get_num_threads(),
    )
    return MachineSpeed(rows=rows, parsing=parsing, settings=used, **machine(torch.device(device)))


def _trees(data: Path | None, shortest: int) -> tuple[list[Tree], str]:
    """Trees of the data, and the name of their file; no trees if the data has no such file."""
    path = None if data is None else find_file(data, TREES)
    if path is None:
        return [], "random binary trees"
    documents = []
    for number, trees in enumerate(read_tree_lines(path)):
        if number == _LINES_READ:
            break
        if trees and sum(len(tree.words) for tree in trees) >= shortest:
            documents.append(document(trees))
    return documents, path.name


def sentences_of(trees: Sequence[Tree], length: int, count: int) -> list[Tree]:
    """``count`` trees of ``length`` words: the shortest that are long enough, cut; else random trees."""
    longer = sorted((tree for tree in trees if len(tree.words) >= length), key=lambda tree: len(tree.words))
    if not longer:
        return [random_tree(["word"] * length, seed) for seed in range(count)]
    return [cut(longer[number % len(longer)], length) for number in range(count)]


def cut(tree: Tree, length: int) -> Tree:
    """The tree over the first ``length`` words."""
    kept = [
        (label, (start, min(end, length)))
        for label, (start, end) in zip(tree.labels, tree.spans, strict=True)
        if start < length
    ]
    labels, spans = zip(*kept, strict=True)
    return collapse(Tree(tree.words[:length], tree.tags[:length], labels, spans))


def _batch(trees: Sequence[Tree], device: str) -> Batch:
    """Random words, node labels and classes over these trees."""
    torch.manual_seed(1)
    batch = tree_inputs(trees, VOCABULARY, LABELS, multiple=1)
    batch["labels"] = torch.randint(CLASSES, (len(trees),))
    return {name: tensor.to(device) for name, tensor in batch.items()}


def _works(
    eager: dict[str, Candidate], graphed: dict[str, Candidate], batch: Batch, progress: Progress
) -> dict[tuple[str, str], Work]:
    """Functions to time on a batch, by kind and system, after a warm-up; without failed CUDA graphs."""
    works: dict[tuple[str, str], Work] = {}
    for kind, candidates in ((TRAINING, eager), (GRAPHS, graphed), (INFERENCE, eager)):
        for name, candidate in candidates.items():
            step = candidate.answer if kind == INFERENCE else candidate.update
            work = partial(step, candidate.inputs(batch))
            try:
                for _ in range(_WARM_UP):
                    work()
            except RuntimeError as error:
                if kind != GRAPHS:
                    raise
                progress.log(f"{name}: no CUDA graph ({str(error).splitlines()[0]})")
                continue
            works[kind, name] = work
    return works


def _timings(
    works: dict[tuple[str, str], Work], length: int, settings: Settings, device: str
) -> Iterator[Timing]:
    """Time the functions in turns."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for _ in range(settings.rounds):
        for key, work in works.items():
            times[key].append(seconds(work, device, repeat=1, warm_up=0))
    first_systems: dict[str, str] = {}
    for kind, name in works:
        first_systems.setdefault(kind, name)
    for (kind, name), system_times in times.items():
        first_times = times[kind, first_systems[kind]]
        ratios = [taken / first for taken, first in zip(system_times, first_times, strict=True)]
        median = statistics.median(system_times)
        yield Timing(
            length=length,
            work=kind,
            system=name,
            milliseconds=median * 1e3,
            sentences_a_second=settings.sentences / median,
            ratio=statistics.median(ratios),
            lowest=min(ratios),
            highest=max(ratios),
            peak_bytes=peak_bytes(works[kind, name]) if device == "cuda" and kind != GRAPHS else 0,
        )


def tree_inputs(
    trees: Sequence[Tree], vocab_size: int, labels: int, *, multiple: int = 8
) -> dict[str, Tensor]:
    """Inputs of a tree model: random tokens and labels, padded to a multiple of leaves and nodes."""
    batch = TreeBatch.from_trees(trees)
    n, m = (-(-size // multiple) * multiple for size in (batch.n, batch.m))
    attention_mask = pad(batch.leaf_mask, (0, n - batch.n)).long()
    return {
        "input_ids": torch.randint(4, vocab_size, attention_mask.shape) * attention_mask,
        "attention_mask": attention_mask,
        "node_ids": torch.randint(labels, (len(trees), m)),
        "node_mask": pad(batch.node_mask, (0, m - batch.m)),
        "node_spans": pad(batch.spans, (0, 0, 0, m - batch.m)),
    }


def synchronize(device: str) -> None:
    """Wait until the GPU has finished its work."""
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(run: Callable[[], object], device: str, *, repeat: int = 10, warm_up: int = 3) -> float:
    """Median wall time of ``run`` in seconds."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(repeat):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_bytes(run: Callable[[], object]) -> int:
    """Peak GPU memory of ``run`` above the memory in use before."""
    run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def count_parameters(recipes: Path, prepared: Path) -> Parameters:
    """Count the parameters of the paper's base models and of the systems of all recipes.

    Args:
        recipes: folder of the recipes.
        prepared: folder of prepared corpora, which have the numbers of tokens and labels.
    """
    nodes = _TABLE_LABELS
    base = {
        "Transformer base": _count("transformer", "translation", _BASE, _TABLE_ROWS, 0),
        "Tree Transformer base": _count("tree-transformer", "translation", _BASE, _TABLE_ROWS - nodes, nodes),
    }
    systems: list[SystemParameters] = []
    for path in sorted(recipes.glob("*.yaml")):
        if not path.stem.startswith(_OTHER_RECIPES):
            systems += _recipe_parameters(path, prepared / path.stem)
    return Parameters(base=base, rows_of_the_table=_TABLE_ROWS, recipes=systems)


def _recipe_parameters(path: Path, prepared: Path) -> Iterator[SystemParameters]:
    """Parameters of each system of a recipe; only without token embeddings if the corpus is not prepared."""
    recipe = Recipe.load(path)
    kind = recipe.data.task.kind
    tokens, labels = None, _TABLE_LABELS
    classes: tuple[str, ...] = ("0", "1")
    if (prepared / MANIFEST).is_file():
        manifest = Manifest.load_json(prepared / MANIFEST)
        tokens, labels, classes = manifest.vocab_size, manifest.node_vocab_size, manifest.classes or classes
    elif isinstance(recipe.data.vocabulary, Subwords):
        tokens = recipe.data.vocabulary.size
    for name, system in recipe.systems.items():
        with_1000, with_2000 = (
            _count(name, kind, system.sizes, count, labels, classes) for count in (1000, 2000)
        )
        per_token = (with_2000 - with_1000) // 1000
        without_tokens = with_1000 - 1000 * per_token
        yield SystemParameters(
            recipe=path.stem,
            system=name,
            tokens=tokens,
            labels=labels,
            without_tokens=without_tokens,
            parameters=None if tokens is None else without_tokens + tokens * per_token,
        )


def _count(
    system: str,
    kind: Any,
    sizes: dict[str, Any],
    tokens: int,
    labels: int,
    classes: Sequence[str] = ("0", "1"),
) -> int:
    """The number of parameters of a model, built without memory for its weights."""
    with torch.device("meta"):
        model = build(
            system_named(system),
            kind,
            sizes,
            vocab_size=tokens,
            node_vocab_size=max(labels, 1),
            classes=() if kind == "translation" else classes,
        )
    return sum(parameter.numel() for parameter in model.parameters())
