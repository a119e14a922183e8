"""Training of the embedded parser from a recipe."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from treeformer.configuration import Settings
from treeformer.data.vocabulary import IGNORED
from treeformer.parsing.contractions import contract
from treeformer.parsing.network import NetworkSizes, ParserNetwork
from treeformer.parsing.weights import stored
from treeformer.training.parser_corpus import (
    Batch,
    Corpus,
    Example,
    Inventory,
    TypeTable,
    example_of,
)
from treeformer.trees import read_trees


class TreeFile(Settings):
    """A file of trees to learn from."""

    file: str = Field(description="path below the data folder")
    times: int = Field(default=1, ge=1, description="how often an epoch goes through it")
    licence: str = Field(description="what the text and its trees may be used for, for the model card")
    contract: bool = Field(default=False, description="write French words in one that its trees split in two")


class NetworkRecipe(Settings):
    """Sizes of the network."""

    known_words: int = Field(default=12000, ge=1, description="words with a row of their own")
    buckets: int = Field(default=16000, ge=1, description="rows that prefixes, suffixes and trigrams share")
    word_width: int = Field(default=80, ge=1, description="of the rows of words and their parts")
    width: int = Field(default=256, ge=2, description="of the states")
    layers: int = Field(default=6, ge=1, description="of self-attention")
    heads: int = Field(default=4, ge=1, description="of each layer")
    inner: int = Field(default=512, ge=1, description="hidden units of each layer's feed-forward part")
    span_width: int = Field(default=192, ge=1, description="hidden units where spans are scored")
    bits: Literal[8, 16] = Field(default=16, description="of a stored weight; in 8 every row has a scale")


class LearningRecipe(Settings):
    """How the network learns."""

    updates: int = Field(default=9000, ge=1, description="steps of the optimiser")
    batch_words: int = Field(default=16000, ge=1, description="words a batch, padding included")
    learning_rate: float = Field(default=1e-3, gt=0, description="its highest value")
    warm_up: int = Field(default=200, ge=1, description="updates until the learning rate is highest")
    weight_decay: float = Field(default=0.01, ge=0, description="decoupled")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="in training")
    lower: float = Field(
        default=0.12, ge=0, le=1, description="share of sentences that are read in lower case"
    )
    unknown: float = Field(default=0.05, ge=0, le=1, description="share of words that are treated as unknown")
    averaging: float = Field(
        default=0.999, ge=0, lt=1, description="decay of the average of weights that is kept"
    )
    longest: int = Field(default=100, ge=1, description="longer sentences are left out")
    rare: int = Field(default=30, ge=1, description="labels and tags that occur less often are left out")


class ParserRecipe(Settings):
    """What a parser is trained on, and how."""

    name: str = Field(description="of the parser, written into everything made from its trees")
    language: str = Field(description="of the text it reads: en, de or fr")
    trees: list[TreeFile] = Field(min_length=1, description="what it learns from")
    network: NetworkRecipe = Field(default=NetworkRecipe(), description="its sizes")
    learning: LearningRecipe = Field(default=LearningRecipe(), description="how it learns")
    seed: int = Field(default=1, ge=0, description="of weights and order")


def train_parser(
    recipe: ParserRecipe,
    data: Path,
    output: Path,
    *,
    device: torch.device,
    report: Callable[[str], None] = print,
) -> None:
    """Train a parser and write ``parser.json`` and ``parser.safetensors`` into the folder ``output``."""
    torch.manual_seed(recipe.seed)
    examples = _examples(recipe, data, report)
    network_recipe, learning = recipe.network, recipe.learning
    inventory = Inventory.of(
        examples, known_words=network_recipe.known_words, buckets=network_recipe.buckets, rare=learning.rare
    )
    table = TypeTable(inventory.lexicon)
    corpus = Corpus(examples, inventory, table, device)
    table.freeze(device)
    sizes = NetworkSizes(
        words=len(inventory.lexicon.words),
        labels=len(inventory.labels),
        tags=len(inventory.tags),
        **network_recipe.model_dump(exclude={"known_words", "bits"}),
    )
    network = ParserNetwork(sizes, dropout=learning.dropout).to(device)
    words = sum(len(example.words) for example in examples)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    report(
        f"{len(examples)} sentences, {words} words, {sizes.labels} labels, {sizes.tags} tags, "
        f"{parameters} parameters"
    )
    average = _learn(network, corpus, table, recipe, device, report)
    _save(output, recipe, inventory, sizes, average)


def losses(network: ParserNetwork, batch: Batch, inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Losses a word: of brackets (every span is one or is none), of labels of brackets, and of tags."""
    states, posts = network(*inputs)
    scores = network.brackets(posts).float()
    gold = torch.zeros_like(scores)
    gold[batch.spans[:, 0], batch.spans[:, 1], batch.spans[:, 2]] = 1
    place = torch.arange(scores.shape[1], device=scores.device)
    lengths = batch.mask.sum(1)
    span = (place[:, None] < place) & (place <= lengths[:, None, None])
    brackets = (F.binary_cross_entropy_with_logits(scores, gold, reduction="none") * span).sum()
    label_scores = network.labels(posts, batch.spans[:, :3]).float()
    labels = F.cross_entropy(label_scores, batch.spans[:, 3], ignore_index=IGNORED, reduction="sum")
    tag_scores = network.tag(states).float().flatten(0, 1)
    tags = F.cross_entropy(tag_scores, batch.tags.flatten(), ignore_index=IGNORED, reduction="sum")
    count = lengths.sum()
    return brackets / count, labels / count, tags / count


def _examples(recipe: ParserRecipe, data: Path, report: Callable[[str], None]) -> list[Example]:
    examples: list[Example] = []
    for source in recipe.trees:
        problems: list[Exception] = []
        trees = read_trees(data / source.file, unary="keep", on_error=problems.append)
        if source.contract:
            trees = map(contract, trees)
        own = [example_of(tree) for tree in trees if len(tree.words) <= recipe.learning.longest]
        report(f"{source.file}: {len(own)} sentences, {len(problems)} lines unreadable")
        examples += own * source.times
    if not examples:
        raise ValueError(f"{data}: expected trees of at most {recipe.learning.longest} words, found none")
    return examples


def _learn(
    network: ParserNetwork,
    corpus: Corpus,
    table: TypeTable,
    recipe: ParserRecipe,
    device: torch.device,
    report: Callable[[str], None],
) -> dict[str, Tensor]:
    """Run all updates; the average of the weights."""
    learning = recipe.learning
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=learning.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=learning.weight_decay,
        fused=device.type == "cuda",
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _schedule(learning))
    weights = list(network.parameters())
    average = [weight.detach().clone() for weight in weights]
    start, words = time.perf_counter(), 0
    for update, batch in enumerate(_endless(corpus, recipe), start=1):
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            inputs = table.inputs(batch, lower=learning.lower, unknown=learning.unknown)
            parts = losses(network, batch, inputs)
        optimizer.zero_grad(set_to_none=True)
        sum(parts).backward()  # type: ignore[union-attr]
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        decay = min(learning.averaging, update / (update + 20))
        torch._foreach_lerp_(average, [weight.detach() for weight in weights], 1 - decay)
        words += batch.types.numel()
        if update % 500 == 0 or update == learning.updates:
            seconds = time.perf_counter() - start
            brackets, labels, tags = (part.item() for part in parts)
            report(
                f"update {update}: loss of brackets {brackets:.3f}, labels {labels:.3f}, tags {tags:.3f}; "
                f"{words / seconds:,.0f} words/s, {seconds:.0f} s"
            )
        if update == learning.updates:
            break
    names = [name for name, _ in network.named_parameters()]
    return dict(zip(names, average, strict=True))


def _endless(corpus: Corpus, recipe: ParserRecipe) -> Iterator[Batch]:
    epoch = 0
    while True:
        yield from corpus.batches(recipe.learning.batch_words, recipe.seed + epoch)
        epoch += 1


def _schedule(learning: LearningRecipe) -> Callable[[int], float]:
    """Warm-up, then half a cosine down to 2 %."""

    def factor(update: int) -> float:
        wave = 0.5 * (1 + math.cos(math.pi * min(update / learning.updates, 1)))
        return min((update + 1) / learning.warm_up, 1) * (0.02 + 0.98 * wave)

    return factor


def _save(
    output: Path, recipe: ParserRecipe, inventory: Inventory, sizes: NetworkSizes, weights: dict[str, Tensor]
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    save_file(stored(weights, recipe.network.bits), output / "parser.safetensors")
    description = {
        "name": recipe.name,
        "language": recipe.language,
        "sizes": asdict(sizes),
        "labels": inventory.labels,
        "tags": inventory.tags,
        "words": inventory.lexicon.words,
        "recipe": recipe.model_dump(),
    }
    text = json.dumps(description, ensure_ascii=False, indent=0)
    (output / "parser.json").write_text(text, encoding="utf-8")
