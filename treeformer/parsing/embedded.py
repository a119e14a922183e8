"""The embedded parser: a small network that comes with the package, no Java, no download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import model_validator
from safetensors.torch import load_file
from torch import Tensor

from treeformer.checksums import check_folder
from treeformer.chunking import split_by_padding, split_by_sizes
from treeformer.configuration import Settings
from treeformer.model_folder import check_finite, check_sizes, stored_tensors
from treeformer.parsing.chart import best_splits, spans_of
from treeformer.parsing.lexicon import Lexicon
from treeformer.parsing.network import NetworkSizes, ParserNetwork
from treeformer.parsing.parser import Parser, checked_sentences
from treeformer.parsing.weights import check_stored, restored
from treeformer.trees import Span, Tree, join
from treeformer.trees.tree import trusted_tree

LONGEST = 300  #: longer sentences are parsed in pieces of this many words and joined under one FRAG
DESCRIPTION, WEIGHTS = "parser.json", "parser.safetensors"  #: the files of a parser


class EmbeddedParser(Parser):
    """A parser read from a folder with ``parser.json`` and ``parser.safetensors``.

    >>> from treeformer import load_parser
    >>> parser = load_parser("en")
    >>> print(parser.parse(["The cat sleeps well."])[0])
    (ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))

    Args:
        folder: written by `treeformer parser train`.
        device: where the network runs.
        batch_words: words in a batch, padding included; default: 2,000, on a GPU 32,000.
        bf16: compute in bfloat16, which is faster on hardware that supports it; a few trees differ.
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
        self.name = description.name
        self.language = description.language
        self._labels = [label.split("+")[::-1] for label in description.labels]
        self._tags = description.tags
        self._lexicon = Lexicon(description.words, description.sizes.buckets)
        self._network.to(device)
        self._device = torch.device(device)
        self._bf16 = bf16
        self.batch_words = batch_words or (2000 if self._device.type == "cpu" else 32_000)

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        pieces: list[tuple[str, ...]] = []
        counts = []
        for sentence in checked_sentences(sentences):
            starts = range(0, len(sentence), LONGEST)
            pieces += [sentence[start : start + LONGEST] for start in starts]
            counts.append(len(starts))
        trees: dict[int, Tree] = {}
        by_length = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
        batches = split_by_padding(by_length, lambda index: len(pieces[index]), budget=self.batch_words)
        for batch in batches:
            trees.update(zip(batch, self._parse_batch([pieces[index] for index in batch]), strict=True))
        in_order = [trees[index] for index in range(len(pieces))]
        return [
            parts[0] if len(parts) == 1 else _join_pieces(parts) for parts in split_by_sizes(in_order, counts)
        ]

    def _parse_batch(self, sentences: list[tuple[str, ...]]) -> list[Tree]:
        """One tree for each sentence, by one pass of the network."""
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            states, gaps = self._network(*self._inputs(sentences))
            scores = self._network.brackets(gaps).float()
        splits, positive = best_splits(scores).tolist(), (scores > 0).tolist()
        spans = [
            spans_of(splits[index], positive[index], len(words)) for index, words in enumerate(sentences)
        ]
        places = [(index, *span) for index, sentence_spans in enumerate(spans) for span in sentence_spans]
        label_scores = self._network.labels(gaps.float(), torch.tensor(places, device=self._device))
        labels = split_by_sizes(label_scores.argmax(-1).tolist(), map(len, spans))
        tags = self._network.tag(states.float()).argmax(-1).tolist()
        return list(map(self._tree, sentences, tags, spans, labels))

    def _inputs(self, sentences: list[tuple[str, ...]]) -> tuple[Tensor, ...]:
        """The arguments of `ParserNetwork.forward`, padded to the longest sentence."""
        n = max(map(len, sentences))
        known: list[list[int]] = []
        shapes: list[list[int]] = []
        pieces: list[int] = []
        offsets: list[int] = []
        for words in sentences:
            if self.language == "en":  # training text has straight apostrophes; a mark alone is a quote
                words = tuple(word.replace("’", "'") if len(word) > 1 else word for word in words)
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
        tensors = [
            torch.tensor(known),
            torch.tensor(pieces),
            torch.tensor(offsets),
            torch.tensor(shapes),
            mask,
        ]
        return tuple(tensor.to(self._device) for tensor in tensors)

    def _tree(self, words: tuple[str, ...], tags: list[int], spans: list[Span], labels: list[int]) -> Tree:
        """The tree of one sentence; a label may stand for a unary chain, lowest node first."""
        node_labels, node_spans = [], []
        for span, label in zip(spans, labels, strict=True):
            for name in self._labels[label]:
                node_labels.append(name)
                node_spans.append(span)
        node_labels.append("ROOT")
        node_spans.append((0, len(words)))
        leaf_tags = tuple([self._tags[tag] for tag in tags[: len(words)]])
        return trusted_tree(words, leaf_tags, tuple(node_labels), tuple(node_spans))


class _Description(Settings):
    """What ``parser.json`` holds beside the recipe: names of the numbers that the network computes."""

    name: str
    language: str
    sizes: NetworkSizes
    labels: list[str]  #: chains of labels from top to bottom, such as S+VP
    tags: list[str]
    words: list[str]  #: known words in lower case
    recipe: Any = None

    @model_validator(mode="after")
    def _of_one_parser(self) -> _Description:
        for key in ("labels", "tags", "words"):
            count, size = len(getattr(self, key)), getattr(self.sizes, key)
            if count != size:
                raise ValueError(f"{key}: expected {size} as in sizes.{key}, found {count}")
        return self


def _read(folder: Path) -> tuple[_Description, ParserNetwork]:
    """The description in ``parser.json``, and the network with its weights."""
    path, weights = folder / DESCRIPTION, folder / WEIGHTS
    check_folder(folder)
    try:
        description = _Description.load_json(path)
        stored = stored_tensors([weights])
        check_sizes(path, asdict(description.sizes), stored)
        with torch.device("meta"):  # allocates nothing: the tensors of the file take these places
            network = _network(path, description.sizes)
        shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
        check_stored(weights, stored, shapes)
        network.load_state_dict(restored(load_file(weights)), assign=True)
        check_finite(weights, network.state_dict())
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: not a parser, {error}") from error
    return description, network.eval().requires_grad_(False)


def _network(path: Path, sizes: NetworkSizes) -> ParserNetwork:
    """A network of these sizes; ``ValueError`` if there is none."""
    try:
        return ParserNetwork(sizes)
    except Exception as error:  # torch has several for sizes of 0 or less
        raise ValueError(f"{path}: sizes: {error}") from error


def _join_pieces(pieces: list[Tree]) -> Tree:
    """The tree of a long sentence: its pieces, each without its ``ROOT``, under one ``FRAG``."""
    without_root = [
        trusted_tree(piece.words, piece.tags, piece.labels[:-1], piece.spans[:-1]) for piece in pieces
    ]
    return join([join(without_root, "FRAG")], "ROOT")
