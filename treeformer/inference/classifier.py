"""``Classifier``: the class of a text or tree, and of every phrase in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treeformer.chunking import split_by_padding
from treeformer.data.batching import input_tensors
from treeformer.data.examples import ExampleList, Examples
from treeformer.data.reading import Reading
from treeformer.inference.answers import Classification
from treeformer.inference.effects import explained
from treeformer.inference.loading import Loaded, load_run
from treeformer.inference.phrases import classification, labelled
from treeformer.inference.shipped import default_model
from treeformer.trees import Tree

_TOKENS = 16384  # leaves and nodes of a batch


class Logits(NamedTuple):
    """Logits of one example."""

    root: Tensor  #: ``[classes]``
    places: Tensor | None  #: ``[n + m, classes]`` of leaves and nodes; None for models that read words alone


class Classifier:
    """A trained classifier.

    >>> classifier = Classifier.from_pretrained("runs/sst5")  # doctest: +SKIP
    >>> classifier(["A gorgeous, witty, seductive movie."])[0].label  # doctest: +SKIP
    'very positive'
    """

    def __init__(self, loaded: Loaded, name: str = "") -> None:
        self.system, self.model, self.processor = loaded
        self.name = name  #: of the folder of the model, which answers repeat

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        *,
        language: str | None = None,
        device: str | None = None,
        bf16: bool = False,
    ) -> Classifier:
        """The classifier of a run; see `load_run`.

        Args:
            folder: by default a sentiment model of the package: the one over bge-small if that encoder is
                installed, else a small one.
            language: of the texts: ``en``, ``de`` or ``fr``; by default that of the texts of training.
            device, bf16: see `load_run`.
        """
        folder = Path(folder) if folder else default_model()
        loaded = load_run(folder, "classification", device=device, bf16=bf16)
        if language is not None:
            loaded = loaded._replace(processor=loaded.processor.for_language(language))
        return cls(loaded, folder.resolve().name)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes in their order."""
        return self.processor.settings.classes

    @property
    def phrases_taught(self) -> bool:
        """Whether the model gives labels of phrases and learnt from such labels."""
        return self.system.reads == "trees" and self.processor.settings.phrases_taught

    def __call__(self, inputs: Iterable[str | Tree]) -> list[Classification]:
        """The classification of each text or tree; a text without words is an error."""
        return self.classify(self.processor.read_all(inputs))

    def explain(self, inputs: Iterable[str | Tree]) -> list[Classification]:
        """The classification of each text or tree, with the effect of every word and phrase.

        A text of n words is asked about some 4 n times; see `Effect` for what is computed.
        """
        return explained(self, self.processor.read_all(inputs))

    def classify(self, readings: Iterable[Reading]) -> list[Classification]:
        """The classification of each reading."""
        readings, answers = list(readings), []
        logits = self.logits(ExampleList(reading.example for reading in readings))
        for reading, (root, places) in zip(readings, logits, strict=True):
            of_root = labelled(root[None].numpy())
            of_places = None if places is None else labelled(places.numpy())
            taught, name = self.phrases_taught, self.name
            answers.append(
                classification(reading, self.classes, of_root, of_places, taught=taught, model=name)
            )
        return answers

    @torch.inference_mode()
    def logits(self, examples: Examples) -> list[Logits]:
        """The logits of each example, on the CPU; the largest batches are computed first."""
        reads, device = self.system.reads, self.model.device
        sizes = examples.sizes
        tokens = sizes[:, : 2 if reads == "trees" else 1].sum(1)
        order = np.argsort(-tokens, kind="stable").tolist()
        logits: dict[int, Logits] = {}
        for numbers in split_by_padding(order, tokens.__getitem__, budget=_TOKENS):
            inputs = input_tensors(examples.columns(np.array(numbers)), reads=reads)
            output = self.model(**{name: value.to(device) for name, value in inputs.items()})
            roots = output.logits.float().cpu()
            if output.get("node_logits") is None:
                logits |= {number: Logits(roots[row], None) for row, number in enumerate(numbers)}
                continue
            leaves, nodes = output.leaf_logits.float().cpu(), output.node_logits.float().cpu()
            for row, number in enumerate(numbers):
                n, m, _ = sizes[number]
                logits[number] = Logits(roots[row], torch.cat([leaves[row, :n], nodes[row, :m]]))
        return [logits[number] for number in range(len(examples))]
