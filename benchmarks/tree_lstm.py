"""Training of a Tree-LSTM on SST: level by level over whole batches, beside node by node over each tree.

    python -m benchmarks.tree_lstm --data prepared/sst5 [--device cuda] [--batch 256]

Sizes as in Tai et al. (2015): states of 150 numbers, word vectors of 300, targets on all words and phrases.
An update is forward, backward and Adam on a batch of trees of like length; putting batches together is part
of the time. The first epoch is not timed: every shape occurs in it, and on a GPU graphs are recorded. Node
by node is the straightforward program: the modules are called for one node after another, for a few batches
of trees of all lengths. DGL's figure is the published one, from another GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.common import print_machine, synchronize
from treeformer import TreeLstmConfig, TreeLstmForSequenceClassification
from treeformer.data.batching import loader
from treeformer.data.buckets import MULTIPLE, Shape
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.examples import Example
from treeformer.data.split import Split
from treeformer.nn.lstm_cell import LstmState
from treeformer.training.losses import cross_entropy_sum, loss_sum
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater

DGL = 8544 / 3.18  #: trees a second
RATE = 1e-3
Batches = Iterable[dict[str, Tensor]]


class FixedPlan:
    """A plan of batches with a fixed number of examples, sorted by length; for `loader`."""

    reads = "trees"

    def __init__(self, split: Split, batch: int) -> None:
        self._sizes = split.sizes
        order = np.lexsort((self._sizes[:, 1], self._sizes[:, 0]))
        self._batches = [order[start : start + batch] for start in range(0, len(order), batch)]
        self._rows = batch
        self._order = order

    def __len__(self) -> int:
        return len(self._batches)

    def epoch(self, epoch: int, *, shards: int = 1) -> list[list[np.ndarray]]:
        return [[self._batches[place]] for place in np.random.default_rng(epoch).permutation(len(self))]

    def sample(self, count: int) -> list[np.ndarray]:
        """``count`` batches, each with examples of all lengths."""
        step = len(self._order) / (count * self._rows)
        places = (np.arange(min(count * self._rows, len(self._order))) * max(step, 1)).astype(int)
        return [self._order[places[first::count]] for first in range(count)]

    def shape(self, update: list[np.ndarray]) -> Shape:
        leaves, nodes, _ = (-(-self._sizes[update[0]].max(0) // MULTIPLE) * MULTIPLE).tolist()
        return Shape(self._rows, leaves, nodes, 0)


def model_of(corpus: PreparedCorpus, composition: str, device: str) -> TreeLstmForSequenceClassification:
    torch.manual_seed(1)
    config = TreeLstmConfig(
        vocab_size=corpus.manifest.vocab_size,
        d_model=150,
        embedding_dim=300,
        composition=composition,
        dropout=0.0,
        num_labels=len(corpus.manifest.classes),
    )
    return TreeLstmForSequenceClassification(config).to(device).train()


def node_by_node(model: TreeLstmForSequenceClassification, example: Example, device: str) -> Tensor:
    """The loss summed over all words and phrases of one tree."""
    encoder, composition = model.encoder, model.encoder.phrases.composition
    ids = torch.tensor(example.input_ids, dtype=torch.long, device=device)
    words = encoder.words(encoder.embedding(ids))
    states = list(words.hidden)
    waiting = [(start, LstmState(*pair)) for start, pair in enumerate(zip(*words, strict=True))]
    stack: list[tuple[int, LstmState]] = []
    for start, end in example.node_spans.tolist():
        while waiting and waiting[0][0] < end:
            stack.append(waiting.pop(0))
        first = next(place for place, (begin, _) in enumerate(stack) if begin >= start)
        messages = [composition.message(state) for _, state in stack[first:]]
        if composition.slots == 1:
            inbox = torch.stack(messages).sum(0)
        else:
            inbox = torch.cat([*messages, torch.zeros_like(messages[0])][:2])
        stack[first:] = [(start, composition.update(inbox))]
        states.append(stack[-1][1].hidden)
    assert example.leaf_targets is not None
    assert example.node_targets is not None
    targets = np.concatenate([example.leaf_targets, example.node_targets])
    return cross_entropy_sum(
        model.classifier(torch.stack(states)), torch.from_numpy(targets).long().to(device)
    )


def epoch_of(updater: Updater, batches: Batches) -> None:
    for batch in batches:
        updater.add(batch)
        updater.step(RATE)


def by_levels(
    split: Split, plan: FixedPlan, model: TreeLstmForSequenceClassification, graphs: bool, epochs: int
) -> float:
    """Trees a second after the first epoch."""
    device = model.device.type
    updater = Updater(model, TrainingRecipe(updates=1, tokens=1, learning_rate=RATE, graphs=graphs))

    def batches(epoch: int) -> Iterator[dict[str, Tensor]]:
        return loader(split, plan, epoch, workers=1, pin_memory=device == "cuda")  # type: ignore[arg-type]

    for epoch in (0, 1) if graphs else (0,):  # a graph is recorded when its shape occurs again
        epoch_of(updater, batches(epoch))
    synchronize(device)
    start = time.perf_counter()
    for epoch in range(2, 2 + epochs):
        epoch_of(updater, batches(epoch))
    synchronize(device)
    return epochs * len(split) / (time.perf_counter() - start)


def by_nodes(split: Split, plan: FixedPlan, model: TreeLstmForSequenceClassification, count: int) -> float:
    """Trees a second, after a few trees to warm up."""
    device = model.device.type
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for index in range(8):
        node_by_node(model, split[index], device).backward()
    synchronize(device)
    trees, start = 0, time.perf_counter()
    for rows in plan.sample(count):
        optimizer.zero_grad()
        for index in rows.tolist():
            node_by_node(model, split[index], device).backward()
        optimizer.step()
        trees += len(rows)
    synchronize(device)
    return trees / (time.perf_counter() - start)


def check_equal(split: Split, plan: FixedPlan, model: TreeLstmForSequenceClassification) -> None:
    """Print the loss of one batch both ways."""
    device = model.device.type
    with torch.no_grad():
        batch = next(iter(loader(split, plan, 2)))  # type: ignore[arg-type]
        levels, _ = loss_sum(model, {name: tensor.to(device) for name, tensor in batch.items()})
        nodes = sum(
            node_by_node(model, split[index], device).item() for index in plan.epoch(2)[0][0].tolist()
        )
    print(f"loss of one batch: level by level {levels.item():.4f}, node by node {nodes:.4f}")
    if abs(levels.item() - nodes) > 1e-3 * nodes:
        raise SystemExit("expected the same loss both ways")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="SST, as treeformer prepare wrote it")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=256, help="trees of an update")
    parser.add_argument("--epochs", type=int, default=1, help="epochs that are timed")
    parser.add_argument("--node-batches", type=int, default=2, help="batches of node by node")
    parser.add_argument("--composition", default="child-sum", choices=("child-sum", "binary"))
    options = parser.parse_args()
    device = options.device
    print_machine(device)
    corpus = PreparedCorpus.open(options.data)
    split = corpus["train"]
    plan = FixedPlan(split, options.batch)
    print(f"{len(split):,} trees, {len(plan)} batches of {options.batch}, composition {options.composition}")
    check_equal(split, plan, model_of(corpus, options.composition, device))
    slow = by_nodes(split, plan, model_of(corpus, options.composition, device), options.node_batches)
    print(f"node by node            {slow:10,.1f} trees/s")
    for graphs in (False, True) if device == "cuda" else (False,):
        model = model_of(corpus, options.composition, device)
        speed = by_levels(split, plan, model, graphs, options.epochs)
        print(
            f"level by level, {'graphs' if graphs else 'eager '}  {speed:10,.1f} trees/s   "
            f"{speed / slow:6.1f} x node by node   {len(split) / speed:6.2f} s an epoch"
        )
    print(f"DGL, as published       {DGL:10,.1f} trees/s   (8,544 trees in 3.18 s)")


if __name__ == "__main__":
    main()
