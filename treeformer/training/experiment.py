"""What training starts from: the model of a recipe, the examples of a corpus, and its updates."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer.chunking import split_by_padding
from treeformer.data.batching import BatchPlan, input_tensors, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.examples import Examples
from treeformer.data.split import Split
from treeformer.data.vectors import read_vectors, vector_width
from treeformer.models.pretrained import PreTrained
from treeformer.models.pretrained_words import pretrained_part
from treeformer.models.systems import build, size_names
from treeformer.nn import ScaledEmbedding
from treeformer.nn.recurrence import Climber
from treeformer.ops import TreeBatch
from treeformer.ops.folding import folded
from treeformer.ops.levels import child_counts, heights
from treeformer.training.pretrained import encoder_for
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe, TrainingRecipe

Shards = list[dict[str, Tensor]]  #: the batches of one update that one process works on
_CELLS = 2**22  # leaves times nodes that are checked at once


def build_model(recipe: Recipe, corpus: PreparedCorpus) -> PreTrained:
    """The model of a recipe with random weights; an encoder that is trained has its own."""
    manifest = corpus.manifest
    settings, encoder = encoder_for(recipe, corpus)
    model = build(
        recipe.system,
        manifest.kind,
        recipe.system_recipe.sizes,
        vocab_size=manifest.vocab_size,
        node_vocab_size=manifest.node_vocab_size,
        classes=manifest.classes,
        pretrained=settings,
    )
    part = pretrained_part(model)
    if part is not None and encoder is not None:
        part.attach(encoder)
    return model


def check_trees(model: PreTrained, corpus: PreparedCorpus) -> None:
    """Refuse a node with more than two children for a model with ``composition: binary``.

    On a GPU the model itself does not check this; see `treeformer.nn.tree_lstm.TreeLstm`.
    """
    if getattr(model.config, "composition", None) != "binary":
        return
    for name in corpus.manifest.splits:
        for number, children in _most_children(corpus[name]):
            if children > 2:
                raise ValueError(
                    f"{corpus.folder}: a node of example {number + 1} of {name} has {children} children "
                    "(words or pieces of words, and nodes), but composition: binary reads at most 2; "
                    "use binary trees, or composition: child-sum"
                )


def _most_children(split: Split) -> Iterator[tuple[int, int]]:
    """The number of each example, and the largest number of children of its nodes."""
    for numbers, batch in _tree_batches(split):
        yield from zip(numbers, child_counts(batch).amax(1).tolist(), strict=True)


def _tree_batches(examples: Examples) -> Iterator[tuple[list[int], TreeBatch]]:
    """All trees in batches of similar size, with the numbers of their examples."""
    widths = examples.sizes[:, :2].max(1)
    order = np.argsort(widths, kind="stable").tolist()
    for numbers in split_by_padding(order, lambda number: int(widths[number]) ** 2, budget=_CELLS):
        inputs = input_tensors(examples.columns(np.array(numbers)))
        leaves = inputs["attention_mask"].sum(1)
        yield numbers, TreeBatch.from_spans(inputs["node_spans"], inputs["node_mask"], leaves)


def tree_limits(model: PreTrained, examples: Examples) -> NDArray[np.int64] | None:
    """``[N, 2]``: levels and folds of each example, None for a model whose time does not grow with them."""
    if not any(isinstance(module, Climber) for module in model.modules()):
        return None
    limits = np.zeros((len(examples), 2), np.int64)
    for numbers, batch in _tree_batches(examples):
        folds = folded(batch).batch
        limits[numbers, 0] = heights(folds).amax(1).numpy()
        limits[numbers, 1] = folds.node_mask.sum(1).numpy()
    return limits


@dataclass(frozen=True)
class VectorCounts:
    """Number of words with a vector, among the words that are one token."""

    with_vector: int
    words: int


@torch.no_grad()
def initialise_embeddings(model: PreTrained, recipe: Recipe, corpus: PreparedCorpus) -> VectorCounts | None:
    """Set the embeddings of known words to the vectors of the recipe; None if it names no file."""
    if recipe.vectors is None:
        return None
    path, embedding = Path(recipe.vectors), model.get_input_embeddings()
    width = vector_width(path)
    if width != embedding.embedding_dim:
        size = "embedding_dim" if "embedding_dim" in size_names(recipe.system) else "d_model"
        raise ValueError(
            f"{path}: the vectors are {width} numbers wide, those of the model {embedding.embedding_dim}; "
            f"expected systems.{recipe.model}.sizes.{size}: {width}"
        )
    words = corpus.processor.vocabulary.whole_words()
    vectors = read_vectors(path, words)
    if vectors:
        values = torch.from_numpy(np.stack(list(vectors.values()))).to(embedding.weight)
        scale = math.sqrt(width) if isinstance(embedding, ScaledEmbedding) else 1.0
        embedding.weight[list(vectors)] = values / scale
    return VectorCounts(len(vectors), len(words))


def training_examples(recipe: Recipe, corpus: PreparedCorpus) -> Examples:
    """The examples to train on: sentences or all their phrases, or a share of them."""
    split, share = corpus["train"], recipe.training.share
    if share is None:
        return split.phrases() if recipe.system_recipe.phrases else split
    sentences = split.share(share)
    return split.phrases().within(sentences) if recipe.system_recipe.phrases else sentences


def endless_updates(
    examples: Examples,
    plan: BatchPlan,
    training: TrainingRecipe,
    processes: Processes,
    *,
    epoch: int = 0,
    place: int = 0,
) -> Generator[Shards, None, None]:
    """For each update the shards of this process, epoch after epoch.

    Args:
        examples: the examples of the plan.
        plan: which examples make up each update.
        training: its ``accumulation`` is the number of shards per process.
        processes: the processes that share the examples of an update.
        epoch, place: start in this epoch, after ``place`` of its updates.
    """
    shards = training.accumulation
    while True:
        batches = loader(
            examples,
            plan,
            epoch,
            first=place,
            rank=list(range(processes.rank * shards, (processes.rank + 1) * shards)),
            shards=processes.count * shards,
            workers=training.workers,
            pin_memory=processes.device.type == "cuda",
        )
        while update := list(islice(batches, shards)):
            yield update
        epoch, place = epoch + 1, 0
