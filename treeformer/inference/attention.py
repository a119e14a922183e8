"""What each word and phrase of a tree attends to, and what flows into a phrase by accumulation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.inference.batches import model_inputs
from treeformer.inference.classifier import Classifier
from treeformer.inference.reading import Reading, reading_of
from treeformer.nn import TreeAttention
from treeformer.nn.accumulation import HierarchicalAccumulation
from treeformer.nn.tree_attention import zero_padding
from treeformer.ops import TreeBatch
from treeformer.ops.naive import branches_of
from treeformer.trees import Tree

Numbers = list[list[list[float]]]


@dataclass(frozen=True)
class Branch:
    """A branch of accumulation: a word, and the nodes above it up to the node that gathers."""

    word: int
    nodes: tuple[int, ...]  #: from the node that gathers down to the lowest


@dataclass(frozen=True)
class Accumulated:
    """What flows into a node; numbers are ``[layers][heads or 1][branches]``.

    weights: w of the word of each branch.
    flows: the length of the vector that each branch adds to the value of the node, ``[layers][heads]``.
    """

    branches: tuple[Branch, ...]
    weights: Numbers
    flows: Numbers


@dataclass(frozen=True)
class Attended:
    """What one part of a tree attends to; parts are the words and then the nodes.

    weights: ``[layers][heads][parts]``, each row sums to one.
    visible: for each part whether the subtree mask shows it.
    probabilities: of the classes, for this part.
    accumulated: None for words, and for models that do not accumulate.
    """

    weights: Numbers
    visible: tuple[bool, ...]
    probabilities: tuple[float, ...]
    accumulated: Accumulated | None


def attention_of(
    classifier: Classifier, tree: Tree, part: int, *, hierarchical_embeddings: bool = True
) -> Attended:
    """What a part of a tree attends to, by layer and head.

    Args:
        classifier: whose encoder attends.
        tree: shaped as the classifier reads it.
        part: a word, or a node counted after the words.
        hierarchical_embeddings: False leaves those of the model out, in all layers.
    """
    reading = reading_of(tree, classifier.processor)
    place = reading.places[part]
    if classifier.system.reads == "words" and part >= len(tree.words):
        raise ValueError("part: this model reads words alone, expected a word, got a node")
    inputs = model_inputs(
        [reading.example], [0], classifier.system.reads, classifier.model.device, translates=False
    )
    calls: list[tuple[TreeAttention, Tensor, TreeBatch]] = []
    with (
        torch.inference_mode(),
        _kept(classifier.model, calls),
        _tables(classifier.model, hierarchical_embeddings),
    ):
        output = classifier.model(**inputs, output_attentions=True)
        if output.get("attentions") is None:
            raise ValueError(f"model: a {classifier.system.name} has no attention to show")
        weights = torch.stack([own[0, :, place] for own in output.attentions]).float()
        accumulated = _accumulated(reading, place, part, calls)
    return Attended(
        _rounded(reading.folded(weights)),
        _visible(reading, weights, place, calls),
        _probabilities(output, place),
        accumulated,
    )


def _probabilities(output: Any, place: int) -> tuple[float, ...]:
    """Of the classes at one place; of the whole text where the model has nothing for its parts."""
    leaf_logits, node_logits = output.get("leaf_logits"), output.get("node_logits")
    logits = output.logits[0]
    if leaf_logits is not None and node_logits is not None:
        logits = torch.cat([leaf_logits[0], node_logits[0]])[place]
    return tuple(logits.float().softmax(-1).tolist())


def _visible(
    reading: Reading, weights: Tensor, place: int, calls: list[tuple[TreeAttention, Tensor, TreeBatch]]
) -> tuple[bool, ...]:
    """Which parts the mask shows to one place."""
    if calls and calls[0][0].subtree_mask:
        seen = calls[0][2].visible[0, place]
    else:
        seen = torch.ones(weights.shape[-1], dtype=torch.bool)
    return tuple((reading.folded(seen.float()) > 0).tolist())


def _accumulated(
    reading: Reading, place: int, part: int, calls: list[tuple[TreeAttention, Tensor, TreeBatch]]
) -> Accumulated | None:
    """The branches of a node, None for a word."""
    tree, words = reading.tree, len(reading.tree.words)
    calls = [call for call in calls if call[0].accumulation is not None]
    if part < words or not calls:
        return None
    start, end = tree.spans[part - words]
    weights, flows = [], []
    for attention, states, batch in calls:
        own_weights, own_flows = _flows(attention, states, batch, place - batch.n)
        leaves = torch.tensor(reading.part_of[: batch.n])
        pieces = reading.folded(torch.ones(batch.n))[:words]
        weights.append((reading.folded(own_weights)[:, :words] / pieces)[:, start:end])
        gathered = own_flows.new_zeros(words, *own_flows.shape[::2]).index_add(
            0, leaves, own_flows.transpose(0, 1)
        )
        flows.append(gathered.norm(dim=-1).T[:, start:end])
    branches = tuple(Branch(word, _above(tree, part - words, word)) for word in range(start, end))
    return Accumulated(branches, _rounded(torch.stack(weights)), _rounded(torch.stack(flows)))


def _flows(attention: TreeAttention, states: Tensor, batch: TreeBatch, node: int) -> tuple[Tensor, Tensor]:
    """Weights w ``[heads or 1, n]``, and what each branch adds to the value of a node, ``[H, n, K]``."""
    accumulation = attention.accumulation
    assert accumulation is not None
    states = zero_padding(states, batch)
    w = accumulation.weights(states[:, : batch.n])
    _, _, values = attention.project(states)
    flows = branches_of(
        values[:, :, : batch.n],
        values[:, :, batch.n :],
        w,
        batch,
        accumulation.vertical,
        accumulation.horizontal,
        accumulation.convention,
    )
    return w[0].float(), flows[0, :, node].float()


def _above(tree: Tree, top: int, word: int) -> tuple[int, ...]:
    """The nodes from ``top`` down to the lowest above a word."""
    found = []
    node = tree.leaf_parents[word]
    while node != top:
        found.append(node)
        node = tree.parents[node]
    return (top, *reversed(found))


def _rounded(values: Tensor) -> Numbers:
    return [[[round(x, 5) for x in row] for row in layer] for layer in values.tolist()]


@contextmanager
def _kept(model: nn.Module, calls: list[tuple[TreeAttention, Tensor, TreeBatch]]) -> Iterator[None]:
    """Keep what the tree attentions of a model are called with."""

    def keep(attention: nn.Module, arguments: tuple[Any, ...]) -> None:
        assert isinstance(attention, TreeAttention)
        calls.append((attention, arguments[0], arguments[1]))

    hooks = [
        module.register_forward_pre_hook(keep)
        for module in model.modules()
        if isinstance(module, TreeAttention)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _tables(model: nn.Module, used: bool) -> Iterator[None]:
    """The model with its hierarchical embeddings, or for a while without them."""
    modules = [module for module in model.modules() if isinstance(module, HierarchicalAccumulation)]
    tables = [(module, module.vertical, module.horizontal) for module in modules]
    if not used:
        for module in modules:
            module.vertical = module.horizontal = None
    try:
        yield
    finally:
        for module, vertical, horizontal in tables:
            module.vertical, module.horizontal = vertical, horizontal
