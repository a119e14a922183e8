"""Training of the embedded parser."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.numpy
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from treeformer.checksums import replaced
from treeformer.configuration import Settings
from treeformer.data.vocabulary import IGNORED
from treeformer.machine import chosen_device
from treeformer.model_folder import check_finite
from treeformer.parsing.contractions import contract
from treeformer.parsing.description import DESCRIPTION, WEIGHTS
from treeformer.parsing.network import ParserNetwork
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.weights import stored
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import WorkFolder, write_file
from treeformer.training.parser_corpus import Inventory, ParsedSentence, ParserBatch, ParserCorpus
from treeformer.training.recipe import LARGEST
from treeformer.trees import read_trees


class TreeFile(Settings):
    """A file of trees to train on."""

    file: str = Field(description="path below the data folder")
    times: int = Field(default=1, ge=1, description="how often an epoch reads it")
    licence: str = Field(description="licence of the text and its trees, for the model card")
    contract: bool = Field(default=False, description="join French words that the trees split, as in *du*")


class NetworkRecipe(Settings):
    """Sizes of the network."""

    known_words: int = Field(default=12000, ge=1, description="number of words with an embedding")
    buckets: int = Field(default=16000, ge=1, description="embeddings of prefixes, suffixes and trigrams")
    word_width: int = Field(default=80, ge=1, description="width of these embeddings")
    width: int = Field(default=256, ge=2, description="width of the hidden states")
    layers: int = Field(default=6, ge=1, description="number of self-attention layers")
    heads: int = Field(default=4, ge=1, description="attention heads in each layer")
    inner: int = Field(default=512, ge=1, description="hidden units of each feed-forward layer")
    span_width: int = Field(default=192, ge=1, description="hidden units of the span scorer")
    bits: Literal[8, 16] = Field(default=16, description="bits of a stored weight; with 8, rows have scales")


class LearningRecipe(Settings):
    """How the network is trained."""

    updates: int = Field(default=9000, ge=1, description="number of updates")
    batch_words: int = Field(default=16000, ge=1, description="words in a batch, padding included")
    learning_rate: float = Field(default=1e-3, gt=0, le=LARGEST, description="highest learning rate")
    warm_up: int = Field(default=200, ge=1, description="updates until the learning rate is highest")
    weight_decay: float = Field(default=0.01, ge=0, le=LARGEST, description="decoupled weight decay")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="dropout during training")
    lower: float = Field(default=0.12, ge=0, le=1, description="share of sentences read in lower case")
    unknown: float = Field(default=0.05, ge=0, le=1, description="share of words read as unknown")
    averaging: float = Field(default=0.999, ge=0, lt=1, description="decay of the moving average of weights")
    longest: int = Field(default=100, ge=1, description="longest sentence in words; others are skipped")
    rare: int = Field(default=30, ge=1, description="labels and tags must occur this often")

    def rate_factor(self, update: int) -> float:
        """Share of the highest learning rate: warm-up times half a cosine from 1 to 2 %."""
        wave = 0.5 * (1 + math.cos(math.pi * min(update / self.updates, 1)))
        return min((update + 1) / self.warm_up, 1) * (0.02 + 0.98 * wave)


class ParserRecipe(Settings):
    """Recipe of an embedded parser."""

    name: str = Field(description="name of the parser, recorded with everything made from its trees")
    language: str = Field(description="language of the text: en, de or fr")
    trees: list[TreeFile] = Field(min_length=1, description="files to train on")
    network: NetworkRecipe = Field(default=NetworkRecipe(), description="sizes of the network")
    learning: LearningRecipe = Field(default=LearningRecipe(), description="how the network is trained")
    seed: int = Field(default=1, ge=0, description="seed of weights and order")


def train_parser(
    recipe: ParserRecipe,
    data: Path,
    output: Path,
    *,
    device: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Train a parser and write ``parser.json`` and ``parser.safetensors`` into a folder.

    Args:
        recipe: names the files of trees.
        data: the folder that holds them.
        output: the folder of the parser.
        device: ``cpu`` or ``cuda``; by default a GPU where there is one.
        progress: receives log lines; by default they go to standard error.
    """
    progress = progress or terminal_progress("updates")
    place = chosen_device(device)
    with WorkFolder(output), progress:
        torch.manual_seed(recipe.seed)
        sentences = _read_sentences(recipe, data, progress)
        sizes = recipe.network
        inventory = Inventory.of(
            sentences, known_words=sizes.known_words, buckets=sizes.buckets, rare=recipe.learning.rare
        )
        corpus = ParserCorpus(sentences, inventory, place)
        network_sizes = NetworkSizes(
            words=len(inventory.lexicon.words),
            labels=len(inventory.labels),
            tags=len(inventory.tags),
            **sizes.model_dump(exclude={"known_words", "bits"}),
        )
        network = ParserNetwork(network_sizes, dropout=recipe.learning.dropout).to(place)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        progress.log(
            f"{len(sentences):,} sentences, {sum(corpus.lengths):,} words, {network_sizes.labels} labels, "
            f"{network_sizes.tags} tags, {parameters:,} parameters"
        )
        averaged = _averaged_weights(network, corpus, recipe, progress)
        weights = stored({name: weight.cpu().numpy() for name, weight in averaged.items()}, sizes.bits)
        check_finite(f"{output}: not written, try a lower learning rate", weights)
        _write(output, weights, _description(recipe, network_sizes, inventory))


def _description(recipe: ParserRecipe, sizes: NetworkSizes, inventory: Inventory) -> dict[str, Any]:
    """The content of ``parser.json``."""
    return {
        "name": recipe.name,
        "language": recipe.language,
        "sizes": asdict(sizes),
        "labels": inventory.labels,
        "tags": inventory.tags,
        "words": inventory.lexicon.words,
        "recipe": recipe.model_dump(),
    }


def _write(output: Path, weights: dict[str, np.ndarray], description: dict[str, Any]) -> None:
    """Write a parser; if that is interrupted, the folder holds no parser, rather than parts of two."""
    output.mkdir(parents=True, exist_ok=True)
    with replaced(output, (DESCRIPTION, WEIGHTS)):
        (output / DESCRIPTION).unlink(missing_ok=True)
        write_file(output / WEIGHTS, safetensors.numpy.save(weights))
        write_file(output / DESCRIPTION, json.dumps(description, ensure_ascii=False, indent=0).encode())


def losses(
    network: ParserNetwork, batch: ParserBatch, inputs: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses per word: of brackets (is a span a phrase?), of the labels of phrases, and of tags."""
    states, posts = network(*inputs)
    scores = network.brackets(posts).float()
    gold = torch.zeros_like(scores)
    gold[batch.spans[:, 0], batch.spans[:, 1], batch.spans[:, 2]] = 1
    place = torch.arange(scores.shape[1], device=scores.device)
    lengths = batch.mask.sum(1)
    is_span = (place[:, None] < place) & (place <= lengths[:, None, None])
    brackets = (F.binary_cross_entropy_with_logits(scores, gold, reduction="none") * is_span).sum()
    label_scores = network.labels(posts, batch.spans[:, :3]).float()
    labels = F.cross_entropy(label_scores, batch.spans[:, 3], ignore_index=IGNORED, reduction="sum")
    tag_scores = network.tag(states).float().flatten(0, 1)
    tags = F.cross_entropy(tag_scores, batch.tags.flatten(), ignore_index=IGNORED, reduction="sum")
    words = lengths.sum()
    return brackets / words, labels / words, tags / words


def _read_sentences(recipe: ParserRecipe, data: Path, progress: Progress) -> list[ParsedSentence]:
    longest = recipe.learning.longest
    sentences: list[ParsedSentence] = []
    for source in recipe.trees:
        problems: list[Exception] = []
        trees = read_trees(data / source.file, unary="keep", on_error=problems.append)
        if source.contract:
            trees = map(contract, trees)
        in_file = [ParsedSentence.of(tree) for tree in trees if len(tree.words) <= longest]
        progress.log(f"{source.file}: {len(in_file):,} sentences, {len(problems)} unreadable lines")
        sentences += in_file * source.times
    if not sentences:
        raise ValueError(f"{data}: expected trees of at most {longest} words, got none")
    return sentences


def _averaged_weights(
    network: ParserNetwork, corpus: ParserCorpus, recipe: ParserRecipe, progress: Progress
) -> dict[str, Tensor]:
    """Run all updates; return the moving average of the weights."""
    learning = recipe.learning
    weights = list(network.parameters())
    device = weights[0].device.type
    optimizer = torch.optim.AdamW(
        weights,
        lr=learning.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=learning.weight_decay,
        fused=device == "cuda",
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning.rate_factor)
    average = [weight.detach().clone() for weight in weights]
    epochs = (corpus.batches(learning.batch_words, recipe.seed + epoch) for epoch in count())
    batches = (batch for epoch in epochs for batch in epoch)
    start, words = time.perf_counter(), 0
    for update, batch in enumerate(islice(batches, learning.updates), start=1):
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            inputs = corpus.inputs(batch, lower=learning.lower, unknown=learning.unknown)
            brackets, labels, tags = losses(network, batch, inputs)
        optimizer.zero_grad(set_to_none=True)
        (brackets + labels + tags).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        decay = min(learning.averaging, update / (update + 20))
        torch._foreach_lerp_(average, [weight.detach() for weight in weights], 1 - decay)
        words += batch.forms.numel()
        if update % 500 == 0 or update == learning.updates:
            if not torch.isfinite(brackets + labels + tags):
                raise ValueError(
                    f"the loss became infinite or NaN in the updates up to {update}; no parser was written; "
                    "try a lower learning rate"
                )
            seconds = time.perf_counter() - start
            progress.log(
                f"update {update}: loss of brackets {brackets:.3f}, labels {labels:.3f}, tags {tags:.3f}; "
                f"{words / seconds:,.0f} words/s, {seconds:.0f} s"
            )
    names = [name for name, _ in network.named_parameters()]
    return dict(zip(names, average, strict=True))
