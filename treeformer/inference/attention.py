"""The attention of a word or phrase, and the branches that accumulation adds up in a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.data.batching import input_tensors
from treeformer.data.examples import Columns
from treeformer.data.reading import Reading
from treeformer.inference.answers import Accumulation, Branch, Numbers, PartAttention
from treeformer.inference.classifier import Classifier
from treeformer.nn import TreeAttention
from treeformer.nn.accumulation import HierarchicalAccumulation
from treeformer.nn.packing import unpacked
from treeformer.nn.tree_attention import zero_padding
from treeformer.ops import TreeBatch
from treeformer.ops.naive import branches
from treeformer.trees import Tree

Calls = list[tuple[TreeAttention, Tensor, TreeBatch]]  # each tree attention with its arguments


def part_attention(
    classifier: Classifier, reading: Reading, part: int, *, hierarchical_embeddings: bool = True
) -> PartAttention:
    """What a part of a tree attends to, by layer and head.

    Args:
        classifier: the model to inspect.
        reading: a reading of its processor.
        part: a word, or a node counted after the words.
        hierarchical_embeddings: False leaves them out in all layers.
    """
    if classifier.system.reads == "words" and part >= len(reading.tree.words):
        raise ValueError("part: this model reads words alone, expected a word, got a node")
    place = reading.place_of[part]
    inputs = input_tensors(Columns.of([reading.example]), reads=classifier.system.reads)
    inputs = {name: value.to(classifier.model.device) for name, value in inputs.items()}
    with (
        torch.inference_mode(),
        _recorded_calls(classifier.model) as calls,
        _embeddings(classifier.model, used=hierarchical_embeddings),
    ):
        output = classifier.model(**inputs, output_attentions=True)
        if output.get("attentions") is None:
            raise ValueError(f"model: a {classifier.system.name} has no attention to show")
        weights = torch.stack([attention[0, :, place] for attention in output.attentions]).float()
        accumulation = _accumulation(reading, place, part, calls)
    if calls and calls[0][0].subtree_mask:
        visible = calls[0][2].visible[0, place].float()
    else:
        visible = torch.ones(weights.shape[-1])
    return PartAttention(
        _rounded(reading.sum_by_part(weights)),
        tuple((reading.sum_by_part(visible) > 0).tolist()),
        _probabilities(output, place),
        accumulation,
    )


def _probabilities(output: Any, place: int) -> tuple[float, ...]:
    """Probabilities of the classes at one place; of the whole text for models that read words alone."""
    logits = output.logits[0]
    if output.get("node_logits") is not None:
        logits = torch.cat([output.leaf_logits[0], output.node_logits[0]])[place]
    return tuple(logits.float().softmax(-1).tolist())


def _accumulation(reading: Reading, place: int, part: int, calls: Calls) -> Accumulation | None:
    """The branches of a node; None for a word."""
    tree, words = reading.tree, len(reading.tree.words)
    calls = [call for call in calls if call[0].accumulation is not None]
    if part < words or not calls:
        return None
    start, end = tree.spans[part - words]
    layer_weights, layer_flows = [], []
    for attention, states, batch in calls:
        weights, flows = _branch_values(attention, states, batch, place - batch.n)
        pieces = reading.sum_by_part(torch.ones(batch.n))[:words]
        layer_weights.append((reading.sum_by_part(weights)[:, :words] / pieces)[:, start:end])
        by_word = reading.sum_by_part(flows.transpose(1, 2))[..., :words]  # [H, K, words]
        layer_flows.append(by_word.norm(dim=1)[:, start:end])
    branches = tuple(Branch(word, _path_down(tree, part - words, word)) for word in range(start, end))
    return Accumulation(branches, _rounded(torch.stack(layer_weights)), _rounded(torch.stack(layer_flows)))


def _branch_values(
    attention: TreeAttention, states: Tensor, batch: TreeBatch, node: int
) -> tuple[Tensor, Tensor]:
    """Leaf weights ``[heads or 1, n]``, and what each branch adds to the value of a node, ``[H, n, K]``."""
    accumulation = attention.accumulation
    assert accumulation is not None
    states = zero_padding(states, batch)
    weights = accumulation.weights(states[:, : batch.n])
    _, _, values = attention.project(states)
    flows = branches(accumulation.operands(values, weights, batch))
    return weights[0].float(), flows[0, :, node].float()


def _path_down(tree: Tree, top: int, word: int) -> tuple[int, ...]:
    """The nodes from ``top`` down to the lowest node above a word."""
    path = []
    node = tree.leaf_parents[word]
    while node != top:
        path.append(node)
        node = tree.parents[node]
    return (top, *reversed(path))


def _rounded(values: Tensor) -> Numbers:
    return [[[round(x, 5) for x in row] for row in layer] for layer in values.tolist()]


@contextmanager
def _recorded_calls(model: nn.Module) -> Iterator[Calls]:
    """A list that receives the arguments of each call of a tree attention, with unpacked states."""
    calls: Calls = []

    def record(attention: nn.Module, arguments: tuple[Any, ...]) -> None:
        assert isinstance(attention, TreeAttention)
        states, batch = arguments
        calls.append((attention, unpacked(states, batch) if states.ndim == 2 else states, batch))

    attentions = [module for module in model.modules() if isinstance(module, TreeAttention)]
    hooks = [attention.register_forward_pre_hook(record) for attention in attentions]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _embeddings(model: nn.Module, *, used: bool) -> Iterator[None]:
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
