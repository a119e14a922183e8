"""A tree classifier on a CPU without torch, which takes seconds to import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from treeformer.chunking import split_by_padding
from treeformer.data.examples import Columns
from treeformer.data.processor import TreeProcessor
from treeformer.data.reading import Reading
from treeformer.inference.answers import Classification
from treeformer.inference.onnx_encoder import read_encoder
from treeformer.inference.onnx_trees import OnnxTreeNetwork
from treeformer.inference.phrases import Labelled, classification, labelled
from treeformer.inference.run_folder import check_run_folder
from treeformer.inference.shipped import default_model
from treeformer.inference.tree_sizes import TreeSizes, read_tree_classifier
from treeformer.machine import has_gpu, threads
from treeformer.parsing.onnx_layers import Weights
from treeformer.trees import Tree

if TYPE_CHECKING:
    from treeformer.inference.classifier import Classifier

_TOKENS = 4096  # leaves and nodes of a batch


class OnnxClassifier:
    """Answers like `Classifier`, without its tensors: one batch on each core.

    Args:
        network: scores leaves and nodes.
        processor: makes readings.
        name: of the folder of the model, which answers repeat.
    """

    def __init__(self, network: OnnxTreeNetwork, processor: TreeProcessor, name: str = "") -> None:
        self.network = network
        self.processor = processor
        self.name = name

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes in their order."""
        return self.processor.settings.classes

    @property
    def phrases_taught(self) -> bool:
        """Whether the model learnt from labels of phrases."""
        return self.processor.settings.phrases_taught

    def __call__(self, inputs: Iterable[str | Tree]) -> list[Classification]:
        """The classification of each text or tree; a text without words is an error."""
        return self.classify(self.processor.read_all(inputs))

    def classify(self, readings: Iterable[Reading]) -> list[Classification]:
        """The classification of each reading."""
        readings = list(readings)
        sizes = [len(reading.example.input_ids) + len(reading.example.node_ids) for reading in readings]
        order = sorted(range(len(readings)), key=sizes.__getitem__, reverse=True)
        batches = list(split_by_padding(order, sizes.__getitem__, budget=_TOKENS))
        if min(len(batches), threads()) < 2:
            answered = [self._answers([readings[number] for number in batch]) for batch in batches]
        else:
            with ThreadPoolExecutor(threads()) as pool:
                parts = [[readings[number] for number in batch] for batch in batches]
                answered = list(pool.map(self._answers, parts))
        answers = {
            number: answer
            for batch, batch_answers in zip(batches, answered, strict=True)
            for number, answer in zip(batch, batch_answers, strict=True)
        }
        return [answers[number] for number in range(len(readings))]

    def _answers(self, readings: Sequence[Reading]) -> list[Classification]:
        """The classification of each reading of a batch."""
        logits, width = self.network.scores(Columns.of([reading.example for reading in readings]))
        best, probabilities = labelled(logits)
        answers = []
        for reading, row, numbers in zip(readings, best, probabilities, strict=True):
            leaves, end = reading.leaves, width + len(reading.example.node_ids)
            places = Labelled(row[:leaves] + row[width:end], numbers[:leaves] + numbers[width:end])
            root = Labelled([row[end - 1]], [numbers[end - 1]])
            answers.append(
                classification(
                    reading, self.classes, root, places, taught=self.phrases_taught, model=self.name
                )
            )
        return answers


def quick_classifier(
    folder: str | Path | None = None,
    *,
    language: str | None = None,
    device: str | None = None,
    bf16: bool = False,
) -> Classifier | OnnxClassifier:
    """The classifier of a run that answers soonest: without torch where that is possible.

    The arguments are those of ``Classifier.from_pretrained``. Torch is needed for a GPU, for bfloat16, and
    for other systems than the Tree Transformer. It also reads every folder that has something wrong, and says
    what.
    """
    path = Path(folder or default_model())
    check_run_folder(path)
    on_cpu = device == "cpu" or (device is None and not has_gpu())
    if on_cpu and not bf16:
        processor = TreeProcessor.from_pretrained(path)
        settings = processor.settings
        read = read_tree_classifier(path, len(settings.classes))
        if read is not None and settings.kind == "classification":
            network = _network(*read, processor)
            if language is not None:
                processor = processor.for_language(language)
            if network is not None:
                return OnnxClassifier(network, processor, path.resolve().name)
    from treeformer.inference.classifier import Classifier

    return Classifier.from_pretrained(folder, language=language, device=device, bf16=bf16)


def _network(sizes: TreeSizes, weights: Weights, processor: TreeProcessor) -> OnnxTreeNetwork | None:
    """The network and its encoder; None if they do not fit the processor or need torch."""
    if (sizes.vocab_size, sizes.node_vocab_size) != (processor.vocab_size, processor.node_vocab_size):
        return None
    if sizes.pretrained is None:
        return OnnxTreeNetwork(sizes, weights)
    encoder = read_encoder(sizes.pretrained.name, sizes.pretrained.sha256, sizes.pretrained.layers)
    return None if encoder is None else OnnxTreeNetwork(sizes, weights, encoder)
