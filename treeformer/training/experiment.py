"""What a recipe and a prepared corpus make together: a model, its examples and updates."""

from __future__ import annotations

import math
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treeformer.data.batching import BatchPlan, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.split import Examples
from treeformer.data.vectors import read_vectors, vector_width
from treeformer.models.pretrained import PreTrained
from treeformer.models.systems import build, size_names
from treeformer.nn import ScaledEmbedding
from treeformer.training.recipe import Recipe, TrainingRecipe

Parts = list[dict[str, Tensor]]


def model_of(recipe: Recipe, corpus: PreparedCorpus) -> PreTrained:
    """A model with fresh weights."""
    manifest = corpus.manifest
    return build(
        recipe.system,
        manifest.kind,
        recipe.system_recipe.sizes,
        vocab_size=manifest.vocab_size,
        node_vocab_size=manifest.node_vocab_size,
        classes=manifest.classes,
    )


class VectorCounts(NamedTuple):
    """How many of the words that are one token have a vector."""

    found: int
    words: int


@torch.no_grad()
def start_from_vectors(model: PreTrained, recipe: Recipe, corpus: PreparedCorpus) -> VectorCounts | None:
    """Make the embedding return the vectors of the recipe's file, for words that it has; None without one."""
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


def examples_of(recipe: Recipe, corpus: PreparedCorpus) -> Examples:
    """What the model learns from: sentences, or every phrase as a sequence of its own; or a share of both."""
    split, share = corpus["train"], recipe.training.share
    if share is None:
        return split.phrases() if recipe.system_recipe.phrases else split
    sentences = split.share(share)
    return split.phrases().within(sentences) if recipe.system_recipe.phrases else sentences


def updates_of(
    examples: Examples,
    plan: BatchPlan,
    training: TrainingRecipe,
    *,
    epoch: int = 0,
    place: int = 0,
    rank: int = 0,
    processes: int = 1,
    pin_memory: bool = False,
) -> Generator[Parts, None, None]:
    """The parts of each update that are a process's own, without end.

    Args:
        examples: what the plan was made for.
        plan: says what goes together.
        training: says in how many parts a process works.
        epoch, place: where to begin: so many updates of that epoch are done.
        rank, processes: whose parts.
        pin_memory: give tensors that a GPU can copy while it works.
    """
    parts = training.accumulation
    while True:
        batches = loader(
            examples,
            plan,
            epoch,
            first=place,
            rank=list(range(rank * parts, (rank + 1) * parts)),
            shards=processes * parts,
            workers=training.workers,
            pin_memory=pin_memory,
        )
        while update := list(islice(batches, parts)):
            yield update
        epoch, place = epoch + 1, 0
