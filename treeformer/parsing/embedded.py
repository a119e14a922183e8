"""The embedded parser: a small network that comes with the package, no Java, no download."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from treeformer.parsing.chart import best_splits, spans_of
from treeformer.parsing.lexicon import Lexicon
from treeformer.parsing.network import NetworkSizes, ParserNetwork
from treeformer.parsing.parser import Parser, checked_sentences
from treeformer.parsing.weights import restored
from treeformer.trees import Tree
from treeformer.trees.tree import trusted_tree

LONGEST = 300  #: longer sentences are parsed in pieces of this many words, joined under one FRAG
Span = tuple[int, int]
_DESCRIBED = {"name", "language", "sizes", "labels", "tags", "words"}


class EmbeddedParser(Parser):
    """A parser read from a folder with ``parser.json`` and ``parser.safetensors``.

    >>> from treeformer import load_parser
    >>> parser = load_parser("en")
    >>> print(parser.parse(["The cat sleeps well."])[0])
    (ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))

    Args:
        folder: what `treeformer parser train` wrote.
        device: where the network runs.
        batch_words: how many words it reads at once, padding included; default: 2,000, on a GPU 32,000.
        bf16: compute in bfloat16: faster where the hardware has it, and a few trees differ.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        device: str | torch.device = "cpu",
        batch_words: int | None = None,
        bf16: bool = False,
    ) -> None:
        if torch.device(device).type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device = {str(device)!r}: expected a GPU that torch can use, found none")
        description, self._network = _read(Path(folder))
        self.name: str = description["name"]
        self.language: str = description["language"]
        self._labels: list[list[str]] = [label.split("+")[::-1] for label in description["labels"]]
        self._tags: list[str] = description["tags"]
        self._lexicon = Lexicon(description["words"], description["sizes"]["buckets"])
        self._network.to(device)
        self._device = torch.device(device)
        self._bf16 = bf16
        self._batch_words = batch_words or (2000 if self._device.type == "cpu" else 32_000)

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        words = checked_sentences(sentences)
        pieces = [
            sentence[at : at + LONGEST] for sentence in words for at in range(0, len(sentence), LONGEST)
        ]
        trees = iter(self._parse_pieces(pieces))
        return [_joined([next(trees) for _ in range(0, len(sentence), LONGEST)]) for sentence in words]

    def _parse_pieces(self, sentences: list[tuple[str, ...]]) -> list[Tree]:
        trees: list[Tree | None] = [None] * len(sentences)
        for batch in self._batches(sentences):
            for index, tree in zip(
                batch, self._parse_batch([sentences[index] for index in batch]), strict=True
            ):
                trees[index] = tree
        return [tree for tree in trees if tree is not None]

    def _batches(self, sentences: list[tuple[str, ...]]) -> Iterator[list[int]]:
        """Numbers of sentences of like length, together no more than ``batch_words`` words with padding."""
        batch: list[int] = []
        for index in sorted(range(len(sentences)), key=lambda index: len(sentences[index])):
            if batch and (len(batch) + 1) * len(sentences[index]) > self._batch_words:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _parse_batch(self, sentences: list[tuple[str, ...]]) -> list[Tree]:
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            states, posts = self._network(*self._inputs(sentences))
            scores = self._network.brackets(posts).float()
        states, posts = states.float(), posts.float()
        splits, positive = best_splits(scores).tolist(), (scores > 0).tolist()
        tags = self._network.tag(states).argmax(-1).tolist()
        spans = [
            spans_of(splits[index], positive[index], len(words)) for index, words in enumerate(sentences)
        ]
        places = [(index, *span) for index, own in enumerate(spans) for span in own]
        labels = iter(
            self._network.labels(posts, torch.tensor(places, device=self._device)).argmax(-1).tolist()
        )
        return [
            self._tree(words, tags[index], spans[index], [next(labels) for _ in spans[index]])
            for index, words in enumerate(sentences)
        ]

    def _inputs(self, sentences: list[tuple[str, ...]]) -> tuple[Tensor, ...]:
        """What `ParserNetwork.forward` takes, padded to the longest sentence."""
        n = max(map(len, sentences))
        known: list[list[int]] = []
        shapes: list[list[int]] = []
        pieces: list[int] = []
        offsets: list[int] = []
        for words in sentences:
            if self.language == "en":
                words = tuple(map(_straight, words))
            features = [self._lexicon.features(word) for word in words]
            padding = [0] * (n - len(words))
            known.append([feature.known for feature in features] + padding)
            shapes.append([feature.shape for feature in features] + padding)
            for feature in features:
                offsets.append(len(pieces))
                pieces += feature.pieces
            offsets += [len(pieces)] * len(padding)
        lengths = torch.tensor([len(words) for words in sentences])
        mask = torch.arange(n) < lengths[:, None]
        numbers = (torch.tensor(numbers) for numbers in (known, pieces, offsets, shapes))
        return tuple(tensor.to(self._device) for tensor in (*numbers, mask))

    def _tree(self, words: tuple[str, ...], tags: list[int], spans: list[Span], labels: list[int]) -> Tree:
        names, places = [], []
        for span, label in zip(spans, labels, strict=True):
            for name in self._labels[label]:
                names.append(name)
                places.append(span)
        names.append("ROOT")
        places.append((0, len(words)))
        return trusted_tree(
            words, tuple(self._tags[tag] for tag in tags[: len(words)]), tuple(names), tuple(places)
        )


def _read(folder: Path) -> tuple[dict[str, Any], ParserNetwork]:
    """What ``parser.json`` says, and the network with its weights."""
    try:
        description = json.loads((folder / "parser.json").read_text(encoding="utf-8"))
        missing = _DESCRIBED - set(description)
        if missing:
            raise ValueError(f"parser.json lacks {', '.join(sorted(missing))}")
        network = ParserNetwork(NetworkSizes(**description["sizes"])).eval().requires_grad_(False)
        network.load_state_dict(restored(load_file(folder / "parser.safetensors")))
    except (ValueError, TypeError, SafetensorError) as error:
        raise ValueError(f"{folder}: not a parser, {error}") from error
    except RuntimeError as error:  # of load_state_dict: a long list
        raise ValueError(f"{folder}: parser.json and parser.safetensors are not of one parser") from error
    return description, network


def _straight(word: str) -> str:
    """The word with straight apostrophes, as English training text has them; a mark by itself is a quote."""
    return word.replace("’", "'") if len(word) > 1 else word


def _joined(pieces: list[Tree]) -> Tree:
    """One sentence of pieces that were parsed apart."""
    if len(pieces) == 1:
        return pieces[0]
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    for piece in pieces:
        first = len(words)
        words += piece.words
        tags += piece.tags
        labels += piece.labels[:-1]  # all but its ROOT
        spans += [(start + first, end + first) for start, end in piece.spans[:-1]]
    whole = (0, len(words))
    return trusted_tree(tuple(words), tuple(tags), (*labels, "FRAG", "ROOT"), (*spans, whole, whole))
