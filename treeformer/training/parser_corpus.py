"""Trees as tensors that the parser's network is trained on: words, tags and labelled spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treeformer.chunking import split_by_padding
from treeformer.data.vocabulary import IGNORED
from treeformer.parsing.lexicon import PIECES, Lexicon
from treeformer.trees import Tree


class ParsedSentence(NamedTuple):
    """One sentence of a treebank."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: dict[tuple[int, int], str]  #: labels of unary chains are joined by +, the highest first

    @classmethod
    def of(cls, tree: Tree) -> ParsedSentence:
        """The training targets of a tree. ROOT is left out: every sentence has it."""
        spans: dict[tuple[int, int], str] = {}
        for label, span in zip(tree.labels, tree.spans, strict=True):
            if label not in ("ROOT", "TOP"):
                spans[span] = f"{label}+{spans[span]}" if span in spans else label
        spans.setdefault((0, len(tree.words)), "FRAG")
        return cls(tree.words, tree.tags, spans)


class ParserBatch(NamedTuple):
    """Sentences of similar length."""

    forms: Tensor  #: ``[B, n]`` positions of words in `ParserCorpus.forms`
    mask: Tensor  #: ``[B, n]``
    tags: Tensor  #: ``[B, n]``, −100 for none
    spans: Tensor  #: ``[spans, 4]``: sentence, start, end, label (−100 for a rare one)


@dataclass(frozen=True)
class Inventory:
    """Labels, tags and known words of a parser."""

    labels: tuple[str, ...]
    tags: tuple[str, ...]
    lexicon: Lexicon

    @classmethod
    def of(
        cls, sentences: Iterable[ParsedSentence], *, known_words: int, buckets: int, rare: int
    ) -> Inventory:
        """Labels and tags that occur at least ``rare`` times, and the most frequent words in lower case."""
        words: Counter[str] = Counter()
        tags: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        for sentence in sentences:
            words.update(word.lower() for word in sentence.words)
            tags.update(sentence.tags)
            labels.update(sentence.spans.values())
        frequent = [word for word, count in words.most_common(known_words) if count > 2]
        return cls(
            tuple(label for label, count in labels.most_common() if count >= rare),
            tuple(tag for tag, count in tags.most_common() if count >= rare),
            Lexicon(frequent, buckets),
        )


class ParserCorpus:
    """All sentences on the device, one after the other, and the features of their words.

    Args:
        sentences: the sentences of the treebank.
        inventory: numbers labels and tags.
        device: where batches are built.
    """

    def __init__(
        self, sentences: Sequence[ParsedSentence], inventory: Inventory, device: torch.device
    ) -> None:
        forms = dict.fromkeys(word for sentence in sentences for word in sentence.words)
        forms |= dict.fromkeys(word.lower() for word in forms)
        self.forms = tuple(forms)  #: every word as it is written and in lower case
        self.lengths = [len(sentence.words) for sentence in sentences]
        self.span_counts = [len(sentence.spans) for sentence in sentences]
        numbers = {form: number for number, form in enumerate(self.forms)}
        self._set_features(inventory.lexicon, numbers, device)
        labels = {label: number for number, label in enumerate(inventory.labels)}
        tags = {tag: number for number, tag in enumerate(inventory.tags)}
        spans = (
            number
            for sentence in sentences
            for (start, end), label in sentence.spans.items()
            for number in (start, end, labels.get(label, IGNORED))
        )
        self._forms = _column((numbers[word] for one in sentences for word in one.words), device)
        self._tags = _column((tags.get(tag, IGNORED) for one in sentences for tag in one.tags), device)
        self._spans = _column(spans, device).view(-1, 3)
        self._lengths, self._span_counts = _column(self.lengths, device), _column(self.span_counts, device)
        self._first_word = self._lengths.cumsum(0) - self._lengths
        self._first_span = self._span_counts.cumsum(0) - self._span_counts

    def _set_features(self, lexicon: Lexicon, numbers: dict[str, int], device: torch.device) -> None:
        """Tables of the features of each form, and of its lower-case form."""
        features = [lexicon.features(form) for form in self.forms]
        padding = (lexicon.buckets,) * PIECES
        self._known = torch.tensor([word.known for word in features], device=device)
        self._shapes = torch.tensor([word.shape for word in features], device=device)
        self._pieces = torch.tensor([(word.pieces + padding)[:PIECES] for word in features], device=device)
        self._lower = torch.tensor([numbers[form.lower()] for form in self.forms], device=device)

    def inputs(self, batch: ParserBatch, *, lower: float = 0.0, unknown: float = 0.0) -> tuple[Tensor, ...]:
        """Arguments of `ParserNetwork.forward`.

        Args:
            batch: the sentences.
            lower: share of sentences that are read in lower case.
            unknown: share of words that are read as unknown.
        """
        forms = batch.forms
        drawn = torch.rand(len(forms), 1, device=forms.device)
        forms = torch.where(drawn < lower, self._lower[forms], forms)
        known = self._known[forms]
        known = known.masked_fill(torch.rand(known.shape, device=forms.device) < unknown, 0)
        offsets = torch.arange(0, forms.numel() * PIECES, PIECES, device=forms.device)
        return known, self._pieces[forms].flatten(), offsets, self._shapes[forms], batch.mask

    def batches(self, words: int, seed: int) -> Iterator[ParserBatch]:
        """All sentences once, in shuffled batches of at most ``words`` words, padding included."""
        chance = np.random.default_rng(seed)
        order = np.argsort(self.lengths + 2 * chance.random(len(self.lengths))).tolist()
        batches = list(split_by_padding(order, lambda sentence: self.lengths[sentence] + 2, budget=words))
        chance.shuffle(batches)
        return map(self.batch, batches)

    def batch(self, sentences: Sequence[int]) -> ParserBatch:
        """The batch of these sentences; the host does not wait for the device."""
        device = self._forms.device
        chosen = torch.tensor(sentences).to(device, non_blocking=True)
        place = torch.arange(max(self.lengths[sentence] for sentence in sentences), device=device)
        mask = place < self._lengths[chosen, None]
        words = torch.where(mask, self._first_word[chosen, None] + place, 0)
        counts = self._span_counts[chosen]
        total = sum(self.span_counts[sentence] for sentence in sentences)
        row = torch.repeat_interleave(counts, output_size=total)
        shift = self._first_span[chosen] - (counts.cumsum(0) - counts)
        spans = self._spans[shift[row] + torch.arange(total, device=device)]
        return ParserBatch(
            self._forms[words].masked_fill(~mask, 0).long(),
            mask,
            self._tags[words].masked_fill(~mask, IGNORED).long(),
            torch.cat([row[:, None], spans.long()], dim=1),
        )


def _column(numbers: Iterable[int], device: torch.device) -> Tensor:
    return torch.from_numpy(np.fromiter(numbers, np.int32)).to(device)
