"""What training starts from: the model of a recipe, the examples of a corpus, and its updates."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

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
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe, TrainingRecipe

Parts = list[dict[str, Tensor]]  #: the batches of one update that one process works on


def build_model(recipe: Recipe, corpus: PreparedCorpus) -> PreTrained:
    """The model of a recipe with random weights."""
    manifest = corpus.manifest
    return build(
        recipe.system,
        manifest.kind,
        recipe.system_recipe.sizes,
        vocab_size=manifest.vocab_size,
        node_vocab_size=manifest.node_vocab_size,
        classes=manifest.classes,
    )


@dataclass(frozen=True)
class VectorCounts:
    """Number of words that are one token, and of those that have a vector."""

    found: int
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
) -> Generator[Parts, None, None]:
    """For each update the parts of this process, epoch after epoch.

    Args:
        examples: the examples that the plan was made for.
        plan: which examples make up each update.
        training: says into how many parts a process splits its share.
        processes: share the examples of an update.
        epoch, place: start in this epoch, after ``place`` of its updates.
    """
    parts = training.accumulation
    while True:
        batches = loader(
            examples,
            plan,
            epoch,
            first=place,
            rank=list(range(processes.rank * parts, (processes.rank + 1) * parts)),
            shards=processes.count * parts,
            workers=training.workers,
            pin_memory=processes.device.type == "cuda",
        )
        while update := list(islice(batches, parts)):
            yield update
        epoch, place = epoch + 1, 0
