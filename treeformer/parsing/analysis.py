"""What a network finds in a batch of sentences."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from treeformer.parsing.word_batch import WordBatch
from treeformer.trees import Span


class Analysis(NamedTuple):
    """The parts of the trees of a batch; labels and tags are numbers."""

    spans: list[list[Span]]  #: of each sentence, in post-order
    labels: list[list[int]]  #: of these spans
    tags: list[list[int]]  #: of the words of each sentence, and of padding


class Network(Protocol):
    """A network that analyses sentences: `OnnxNetwork` or `TorchNetwork`."""

    def analyse(self, batch: WordBatch) -> Analysis:
        """Spans, labels and tags of each sentence of a batch."""
        ...
