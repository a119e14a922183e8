"""``Classifier``: the class of a text or tree, and of every phrase in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from treeformer.data.sample import Span
from treeformer.data.split import Example, Examples
from treeformer.inference.batches import batches_by_size, model_inputs
from treeformer.inference.loading import Loaded, load_run
from treeformer.trees import Tree, sentences

SHIPPED = Path(__file__).parent / "models" / "sst"  #: the model that comes with the package
_TOKENS = 16384  # leaves and nodes of a batch


class Phrase(NamedTuple):
    """A word or phrase and its class."""

    span: Span  #: of words, half-open
    label: str
    text: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Classification:
    """What a classifier says about a text.

    text: as it was given; the words of a tree.
    label: the most probable class.
    probabilities: of all classes, in their order.
    tree: what the model read, over whole words.
    phrases: every word and phrase in post-order, the last of them the whole; none from models that read
        words alone. They are as good as what the model was taught about phrases.
    """

    text: str
    label: str
    probabilities: tuple[float, ...]
    tree: Tree
    phrases: tuple[Phrase, ...]

    def as_json(self) -> dict[str, Any]:
        """The same for a program to read."""
        phrases = [phrase._asdict() for phrase in self.phrases]
        return {
            "text": self.text,
            "label": self.label,
            "probabilities": self.probabilities,
            "tree": str(self.tree),
            "phrases": phrases,
        }


class Scored(NamedTuple):
    """Logits of one example."""

    root: Tensor  #: ``[classes]``
    leaves: Tensor | None  #: ``[n, classes]``, None from models that read words alone
    nodes: Tensor | None  #: ``[m, classes]``


class Classifier:
    """A trained classifier.

    >>> classifier = Classifier.from_pretrained("runs/sst5")  # doctest: +SKIP
    >>> classifier(["A gorgeous, witty, seductive movie."])[0].label  # doctest: +SKIP
    'very positive'
    """

    def __init__(self, loaded: Loaded) -> None:
        self.system, self.model, self.processor = loaded

    @classmethod
    def from_pretrained(
        cls, folder: str | Path | None = None, *, device: str | None = None, bf16: bool = False
    ) -> Classifier:
        """The classifier of a run; see `load_run`. Without a folder the one that comes with the package."""
        return cls(load_run(folder or SHIPPED, "classification", device=device, bf16=bf16))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes in their order."""
        return self.processor.settings.classes

    def __call__(self, inputs: Sequence[str | Tree]) -> list[Classification]:
        """What the classifier says about each text or tree; a text without words is an error."""
        found = []
        for number, answer in enumerate(self.answers(inputs), start=1):
            if answer is None:
                raise ValueError(f"inputs: expected words in every text, got none in text {number}")
            found.append(answer)
        return found

    def answers(self, inputs: Sequence[str | Tree]) -> list[Classification | None]:
        """The same, but None for a text without words."""
        parsed = self.processor.parse(inputs)
        read = [None if tree is None else self.processor.as_read(tree) for tree in parsed]
        found = iter(self.classify([tree for tree in read if tree is not None]))
        return [
            None if tree is None else replace(next(found), text=text_of(item))
            for item, tree in zip(inputs, read, strict=True)
        ]

    def classify(self, trees: Sequence[Tree]) -> list[Classification]:
        """What the classifier says about trees that are shaped as it reads them."""
        examples = [self.processor.encode(sentences(tree)) for tree in trees]
        return [
            self._classification(*given) for given in zip(trees, examples, self.score(examples), strict=True)
        ]

    def score(self, examples: Examples | Sequence[Example]) -> list[Scored]:
        """The logits of each example, on the CPU."""
        found: dict[int, Scored] = {}
        for numbers, output in self._outputs(examples):
            logits = [output.logits, output.get("leaf_logits"), output.get("node_logits")]
            root, leaves, nodes = (None if one is None else one.float().cpu() for one in logits)
            assert root is not None
            for row, number in enumerate(numbers):
                n, m = len(examples[number].input_ids), len(examples[number].node_ids)
                found[number] = Scored(
                    root[row],
                    None if leaves is None else leaves[row, :n],
                    None if nodes is None else nodes[row, :m],
                )
        return [found[number] for number in range(len(examples))]

    @torch.inference_mode()
    def _outputs(self, examples: Examples | Sequence[Example]) -> Iterator[tuple[list[int], Any]]:
        """Numbers of examples that were answered together, and what the model returned."""
        reads = self.system.reads
        sizes = [
            len(example.input_ids) + (len(example.node_ids) if reads == "trees" else 0)
            for example in (examples[number] for number in range(len(examples)))
        ]
        for numbers in batches_by_size(sizes, tokens=_TOKENS):
            inputs = model_inputs(examples, numbers, reads, self.model.device, translates=False)
            yield numbers, self.model(**inputs)

    def _classification(self, tree: Tree, example: Example, scored: Scored) -> Classification:
        label, probabilities = self._answer(scored.root)
        return Classification(text_of(tree), label, probabilities, tree, self._phrases(tree, example, scored))

    def _phrases(self, tree: Tree, example: Example, scored: Scored) -> tuple[Phrase, ...]:
        """Words and phrases in post-order; where a node covers a single word, it speaks for the word."""
        if scored.leaves is None or scored.nodes is None:
            return ()
        lengths = [len(self.processor.vocabulary.ids(word)) for word in tree.words]
        starts = list(accumulate(lengths, initial=0))
        word_at = {start: word for word, start in enumerate(starts)}
        rows = {(word, word + 1): starts[word] for word, length in enumerate(lengths) if length == 1}
        for node, (start, end) in enumerate(example.node_spans.tolist(), start=len(scored.leaves)):
            rows[word_at[start], word_at[end]] = node
        spans = sorted(rows, key=lambda span: (span[1], -span[0]))
        logits = torch.cat([scored.leaves, scored.nodes])[[rows[span] for span in spans]]
        best, probabilities = logits.argmax(-1).tolist(), logits.softmax(-1).tolist()
        return tuple(
            Phrase(span, self.classes[label], " ".join(tree.words[slice(*span)]), tuple(own))
            for span, label, own in zip(spans, best, probabilities, strict=True)
        )

    def _answer(self, logits: Tensor) -> tuple[str, tuple[float, ...]]:
        """The most probable class, and the probabilities of all."""
        return self.classes[int(logits.argmax())], tuple(logits.softmax(-1).tolist())


def text_of(item: str | Tree) -> str:
    """A text as it was given; the words of a tree."""
    return item if isinstance(item, str) else " ".join(item.words)
