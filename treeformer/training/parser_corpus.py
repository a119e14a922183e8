"""Trees as what the parser's network learns from: words, tags and labelled spans as numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from treeformer.parsing.lexicon import PIECES, Lexicon
from treeformer.trees import Tree

IGNORED = -100


class Example(NamedTuple):
    """One sentence."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: dict[tuple[int, int], str]  #: labels of unary chains are joined by +, the highest first


class Batch(NamedTuple):
    """Sentences of like length."""

    types: Tensor  #: ``[B, n]`` numbers of words in the `TypeTable`
    mask: Tensor  #: ``[B, n]``
    tags: Tensor  #: ``[B, n]``, −100 for none
    spans: Tensor  #: ``[spans, 4]``: example, start, end, label (−100 for a rare one)


def example_of(tree: Tree) -> Example:
    """What a tree teaches. ROOT is left out: every sentence has it."""
    spans: dict[tuple[int, int], str] = {}
    for label, span in zip(tree.labels, tree.spans, strict=True):
        if label not in ("ROOT", "TOP"):
            spans[span] = f"{label}+{spans[span]}" if span in spans else label
    spans.setdefault((0, len(tree.words)), "FRAG")
    return Example(tree.words, tree.tags, spans)


@dataclass(frozen=True)
class Inventory:
    """Labels, tags and known words of a corpus."""

    labels: tuple[str, ...]
    tags: tuple[str, ...]
    lexicon: Lexicon

    @classmethod
    def of(cls, examples: Iterable[Example], *, known_words: int, buckets: int, rare: int) -> Inventory:
        """What occurs ``rare`` times at least; of the words the most frequent ones, in lower case."""
        words: Counter[str] = Counter()
        tags: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        for example in examples:
            words.update(word.lower() for word in example.words)
            tags.update(example.tags)
            labels.update(example.spans.values())
        frequent = [word for word, count in words.most_common(known_words) if count > 2]
        return cls(
            tuple(label for label, count in labels.most_common() if count >= rare),
            tuple(tag for tag, count in tags.most_common() if count >= rare),
            Lexicon(frequent, buckets),
        )


class TypeTable:
    """Features of every word of a corpus, on the device: a batch is then a table of numbers."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))

    def freeze(self, device: torch.device) -> None:
        """Build the tables, with the lower-case twin of each word."""
        for word in list(self.numbers):
            self.number(word.lower())
        features = [self.lexicon.features(word) for word in self.numbers]
        padding = (self.lexicon.buckets,) * PIECES
        self.known = torch.tensor([own.known for own in features], device=device)
        self.shapes = torch.tensor([own.shape for own in features], device=device)
        self.pieces = torch.tensor([(own.pieces + padding)[:PIECES] for own in features], device=device)
        self.lower = torch.tensor([self.number(word.lower()) for word in self.numbers], device=device)

    def inputs(self, batch: Batch, *, lower: float = 0.0, unknown: float = 0.0) -> tuple[Tensor, ...]:
        """What `ParserNetwork.forward` takes; a part of the sentences in lower case, of the words unknown."""
        types = batch.types
        chance = torch.rand(len(types), 1, device=types.device)
        types = torch.where(chance < lower, self.lower[types], types)
        known = self.known[types]
        known = known.masked_fill(torch.rand(known.shape, device=types.device) < unknown, 0)
        offsets = torch.arange(0, types.numel() * PIECES, PIECES, device=types.device)
        return known, self.pieces[types].flatten(), offsets, self.shapes[types], batch.mask


class Corpus:
    """Encoded sentences, and batches of them."""

    def __init__(self, examples: Iterable[Example], inventory: Inventory, table: TypeTable) -> None:
        labels = {label: number for number, label in enumerate(inventory.labels)}
        tags = {tag: number for number, tag in enumerate(inventory.tags)}
        self.sentences = [
            (
                torch.tensor([table.number(word) for word in example.words]),
                torch.tensor([tags.get(tag, IGNORED) for tag in example.tags]),
                torch.tensor([(*span, labels.get(label, IGNORED)) for span, label in example.spans.items()]),
            )
            for example in examples
        ]

    def batches(self, words: int, seed: int, device: torch.device) -> Iterator[Batch]:
        """All sentences once, in batches of at most ``words`` words with padding, shuffled by the seed."""
        chance = random.Random(seed)
        sizes = [len(sentence[0]) for sentence in self.sentences]
        order = sorted(range(len(sizes)), key=lambda index: sizes[index] + 2 * chance.random())
        batches: list[list[int]] = [[]]
        for index in order:
            if batches[-1] and (len(batches[-1]) + 1) * (sizes[index] + 2) > words:
                batches.append([])
            batches[-1].append(index)
        chance.shuffle(batches)
        for batch in batches:
            yield self._padded(batch, device)

    def _padded(self, indices: list[int], device: torch.device) -> Batch:
        types, tags, spans = zip(*(self.sentences[index] for index in indices), strict=True)
        lengths = torch.tensor([len(own) for own in types])
        rows = torch.arange(len(spans)).repeat_interleave(torch.tensor([len(own) for own in spans]))
        tensors = (
            pad_sequence(list(types), batch_first=True),
            torch.arange(int(lengths.max())) < lengths[:, None],
            pad_sequence(list(tags), batch_first=True, padding_value=IGNORED),
            torch.cat([rows[:, None], torch.cat(spans)], dim=1),
        )
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in tensors))
