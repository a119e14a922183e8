"""The embedded parser: a small network that comes with the package, no Java, no download."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treeformer.chunking import split_by_padding, split_by_sizes
from treeformer.extras import require
from treeformer.machine import threads
from treeformer.parsing.analysis import Network
from treeformer.parsing.description import read_parser
from treeformer.parsing.lexicon import Lexicon
from treeformer.parsing.parser import Parser, checked_sentences
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.word_batch import WordBatch
from treeformer.trees import Span, Tree, join
from treeformer.trees.tree import trusted_tree

if TYPE_CHECKING:
    import torch

LONGEST = 300  #: longer sentences are parsed in pieces of this many words and joined under one FRAG


class EmbeddedParser(Parser):
    """A parser read from a folder with ``parser.json`` and ``parser.safetensors``.

    >>> from treeformer import load_parser
    >>> parser = load_parser("en")
    >>> print(parser.parse(["The cat sleeps well."])[0])
    (ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))

    On the CPU onnxruntime computes in float32, one batch on each core; a GPU and bfloat16 need torch.

    Args:
        folder: written by `treeformer parser train`.
        device: where the network runs.
        batch_words: words in a batch, padding included; default: 2,000, on a GPU 32,000.
        bf16: compute in bfloat16 with torch, which is faster on some hardware; a few trees differ.
        int8: on a CPU, compute in 8 bits, which is faster on processors with VNNI. A few trees differ, and
            they depend on the sentences that are parsed together.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        device: str | torch.device = "cpu",
        batch_words: int | None = None,
        bf16: bool = False,
        int8: bool = False,
    ) -> None:
        description, weights = read_parser(Path(folder))
        self.name = description.name
        self.language = description.language
        self._labels = [label.split("+")[::-1] for label in description.labels]
        self._tags = description.tags
        self._lexicon = Lexicon(description.words, description.sizes.buckets)
        self._network = _network(description.sizes, weights, str(device), bf16=bf16, int8=int8)
        on_cpu = str(device) == "cpu"
        self.batch_words = batch_words or (2000 if on_cpu else 32_000)
        self._batches_at_once = threads() if on_cpu and not bf16 else 1

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        pieces: list[tuple[str, ...]] = []
        counts = []
        for sentence in checked_sentences(sentences):
            starts = range(0, len(sentence), LONGEST)
            pieces += [sentence[start : start + LONGEST] for start in starts]
            counts.append(len(starts))
        trees: dict[int, Tree] = {}
        # the longest first: what threads wait for at the end is short
        by_length = sorted(range(len(pieces)), key=lambda index: len(pieces[index]), reverse=True)
        batches = list(split_by_padding(by_length, lambda index: len(pieces[index]), budget=self.batch_words))
        parsed = self._parse_batches([[pieces[index] for index in batch] for batch in batches])
        for batch, batch_trees in zip(batches, parsed, strict=True):
            trees.update(zip(batch, batch_trees, strict=True))
        in_order = [trees[index] for index in range(len(pieces))]
        return [
            parts[0] if len(parts) == 1 else _join_pieces(parts) for parts in split_by_sizes(in_order, counts)
        ]

    def _parse_batches(self, batches: list[list[tuple[str, ...]]]) -> Iterable[list[Tree]]:
        """The trees of each batch. Threads take batches one by one, so none waits for a slower one."""
        if min(self._batches_at_once, len(batches)) < 2:
            return map(self._parse_batch, batches)
        with ThreadPoolExecutor(self._batches_at_once) as pool:
            return list(pool.map(self._parse_batch, batches))

    def _parse_batch(self, sentences: list[tuple[str, ...]]) -> list[Tree]:
        """One tree for each sentence, by one pass of the network."""
        batch = WordBatch.of([self._read_words(words) for words in sentences], self._lexicon.features)
        analysis = self._network.analyse(batch)
        return list(map(self._tree, sentences, analysis.tags, analysis.spans, analysis.labels))

    def _read_words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words as the network reads them: English training text has straight apostrophes."""
        if self.language != "en":
            return words
        return tuple(
            [word.replace("’", "'") if len(word) > 1 else word for word in words]
        )  # alone it is a quote

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


def _network(
    sizes: NetworkSizes, weights: Mapping[str, np.ndarray], device: str, *, bf16: bool, int8: bool
) -> Network:
    """The network where it is to run; torch is imported only if it is needed."""
    if int8 and (bf16 or device != "cpu"):
        raise ValueError("int8: expected without bf16 and on the device cpu")
    if device == "cpu" and not bf16:
        from treeformer.parsing.onnx_network import OnnxNetwork

        return OnnxNetwork(sizes, weights, int8=int8)
    require("torch")
    import torch

    from treeformer.parsing.torch_network import TorchNetwork

    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device = {device!r}: expected a GPU that torch can use, found none")
    return TorchNetwork(sizes, weights, torch.device(device), bf16=bf16)


def _join_pieces(pieces: list[Tree]) -> Tree:
    """The tree of a long sentence: its pieces, each without its ``ROOT``, under one ``FRAG``."""
    without_root = [
        trusted_tree(piece.words, piece.tags, piece.labels[:-1], piece.spans[:-1]) for piece in pieces
    ]
    return join([join(without_root, "FRAG")], "ROOT")
