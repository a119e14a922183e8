"""Trees as what the parser's network learns from: words, tags and labelled spans as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treeformer.data.vocabulary import IGNORED
from treeformer.parsing.lexicon import PIECES, Lexicon
from treeformer.trees import Tree


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
    """All sentences one behind the other, on the device, and batches of them."""

    def __init__(
        self, examples: Sequence[Example], inventory: Inventory, table: TypeTable, device: torch.device
    ) -> None:
        labels = {label: number for number, label in enumerate(inventory.labels)}
        tags = {tag: number for number, tag in enumerate(inventory.tags)}
        self.words = [len(example.words) for example in examples]
        self.phrases = [len(example.spans) for example in examples]
        spans = (
            number
            for example in examples
            for (start, end), label in example.spans.items()
            for number in (start, end, labels.get(label, IGNORED))
        )
        self._types = _column((table.number(word) for one in examples for word in one.words), device)
        self._tags = _column((tags.get(tag, IGNORED) for one in examples for tag in one.tags), device)
        self._spans = _column(spans, device).view(-1, 3)
        self._words, self._phrases = _column(self.words, device), _column(self.phrases, device)
        self._first_word = self._words.cumsum(0) - self._words
        self._first_phrase = self._phrases.cumsum(0) - self._phrases

    def batches(self, words: int, seed: int) -> Iterator[Batch]:
        """All sentences once, in batches of at most ``words`` words with padding, shuffled by the seed."""
        chance = np.random.default_rng(seed)
        order = np.argsort(self.words + 2 * chance.random(len(self.words)))
        batches: list[list[int]] = [[]]
        for index in order.tolist():
            if batches[-1] and (len(batches[-1]) + 1) * (self.words[index] + 2) > words:
                batches.append([])
            batches[-1].append(index)
        chance.shuffle(batches)
        for batch in batches:
            yield self.batch(batch)

    def batch(self, indices: Sequence[int]) -> Batch:
        """These sentences, put together on the device, which need not be waited for."""
        device = self._types.device
        chosen = torch.tensor(indices).to(device, non_blocking=True)
        place = torch.arange(max(self.words[index] for index in indices), device=device)
        mask = place < self._words[chosen, None]
        at = torch.where(mask, self._first_word[chosen, None] + place, 0)
        counts, total = self._phrases[chosen], sum(self.phrases[index] for index in indices)
        row = torch.repeat_interleave(counts, output_size=total)
        moved = self._first_phrase[chosen] - (counts.cumsum(0) - counts)
        spans = self._spans[moved[row] + torch.arange(total, device=device)]
        return Batch(
            self._types[at].masked_fill(~mask, 0).long(),
            mask,
            self._tags[at].masked_fill(~mask, IGNORED).long(),
            torch.cat([row[:, None], spans.long()], dim=1),
        )


def _column(numbers: Iterable[int], device: torch.device) -> Tensor:
    return torch.from_numpy(np.fromiter(numbers, np.int32)).to(device)
