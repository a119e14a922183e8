"""Predictions of a model on a prepared split, each with the expected answer, as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from treeformer.configuration import first_problem
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.split import Split
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.accuracy import Accuracy, right_classes, right_halves
from treeformer.inference.classifier import Classifier, Logits
from treeformer.inference.translator import Translator
from treeformer.storage import write_file

PHRASES = "words and phrases"  #: name of the accuracy over all words and phrases that have a label


@dataclass(frozen=True)
class Prediction:
    """An example as the model read it: its words, their number, its group (such as attractors)."""

    source: str
    length: int
    group: int


@dataclass(frozen=True)
class ClassPrediction(Prediction):
    """The class that a classifier predicts; ``right`` where it counts as the expected one.

    phrases, phrases_right: number of labelled words and phrases of the example, and how many are right.
    """

    label: str
    predicted: str
    right: bool
    probabilities: Sequence[float]
    phrases: int = 0
    phrases_right: int = 0


@dataclass(frozen=True)
class TranslationPrediction(Prediction):
    """A translation and its reference, both as running text and as tokens separated by spaces."""

    text: str
    tokens: str
    score: float
    reference: str
    reference_tokens: str


def predictions_path(run: str | Path, split: str) -> Path:
    """The file of a run's predictions for a split."""
    return Path(run) / "predictions" / f"{split}.jsonl"


def save_predictions(path: Path, predictions: Sequence[Prediction]) -> None:
    """Write predictions as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(prediction), ensure_ascii=False) for prediction in predictions]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())


def load_predictions(path: Path) -> Sequence[Prediction]:
    """Read what `save_predictions` wrote; ``ValueError`` names file and line if it is anything else."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        raise ValueError(f"{path}: no predictions there; first run treeformer evaluate") from None
    if not lines:
        raise ValueError(f"{path}: expected predictions of treeformer evaluate, found none")
    predictions: list[Prediction] = []
    kind: type[Prediction] = TranslationPrediction if b'"reference"' in lines[0] else ClassPrediction
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    for number, line in enumerate(lines, start=1):
        try:
            predictions.append(adapter.validate_json(line))
        except ValidationError as error:
            raise ValueError(
                f"{path}:{number}: expected predictions of treeformer evaluate: {first_problem(error)}"
            ) from error
    return predictions


def column(predictions: Sequence[Prediction], name: str) -> list[Any]:
    """One field of all predictions."""
    return [getattr(prediction, name) for prediction in predictions]


def expected(predictions: Sequence[Prediction]) -> list[str]:
    """The correct classes, or the reference translations."""
    return column(predictions, "label" if isinstance(predictions[0], ClassPrediction) else "reference")


def predict_classes(
    classifier: Classifier, corpus: PreparedCorpus, split: str
) -> tuple[list[ClassPrediction], dict[str, Accuracy]]:
    """Predicted classes of a split, and further accuracies by name: of phrases, of halves (SST)."""
    examples, halves = corpus[split], corpus.manifest.halves
    scored = classifier.logits(examples)
    logits = torch.stack([scores.root for scores in scored])
    labels = torch.from_numpy(np.array(examples.labels, np.int64))
    right = right_halves(logits, labels) if halves else right_classes(logits, labels)
    names = classifier.classes
    columns = (labels, logits.argmax(-1), right, logits.softmax(-1))
    predictions = [
        ClassPrediction(source, length, group, names[label], names[best], is_right, probabilities)
        for (source, length, group), label, best, is_right, probabilities in zip(
            _sources(corpus, examples), *(column.tolist() for column in columns), strict=True
        )
    ]
    with_halves = corpus.manifest.recipe["task"]["name"] == "sst" and len(names) > 2 and not halves
    more = {}
    if with_halves:
        more["sentences, positive or negative"] = Accuracy.of(*_right(logits, labels, halves=True))
    if examples[0].node_targets is None:
        return predictions, more
    phrases = _phrases(classifier, examples, scored)
    right, counted = _right(phrases.logits, phrases.targets, halves=halves)
    more[PHRASES] = Accuracy.of(right, counted, independent=False)
    if with_halves:
        in_halves = _right(phrases.logits, phrases.targets, halves=True)
        more[f"{PHRASES}, positive or negative"] = Accuracy.of(*in_halves, independent=False)
    counts, right_counts = (
        np.bincount(phrases.examples, weights=column.numpy(), minlength=len(examples)).astype(int).tolist()
        for column in (counted, right)
    )
    return [
        replace(prediction, phrases=count, phrases_right=right_count)
        for prediction, count, right_count in zip(predictions, counts, right_counts, strict=True)
    ], more


def predict_translations(
    translator: Translator, corpus: PreparedCorpus, split: str, **options: Any
) -> list[TranslationPrediction]:
    """Translations of a split; ``options`` are those of `Translator.decode`."""
    examples = corpus[split]
    references = zip(examples.texts("target_text"), examples.texts("target_tokens"), strict=True)
    translations = [translator.translation(first) for first, *_ in translator.decode(examples, **options)]
    return [
        TranslationPrediction(*source, best.text, " ".join(best.tokens), best.score, *reference)
        for source, best, reference in zip(_sources(corpus, examples), translations, references, strict=True)
    ]


def _sources(corpus: PreparedCorpus, examples: Split) -> Iterator[tuple[str, int, int]]:
    """The fields of `Prediction` for each example."""
    texts = examples.texts("words") if "words" in examples.text_names else None
    for number in range(len(examples)):
        example = examples[number]
        if texts is not None:
            yield texts[number], len(example.input_ids), example.group
            continue
        words = corpus.processor.words(example.input_ids.tolist())
        yield " ".join(words), len(words), example.group


class _Phrases(NamedTuple):
    """All words and phrases of a split that have a target."""

    logits: Tensor  #: ``[N, classes]``
    targets: Tensor  #: ``[N]``, −100 where the word of a node over one word has the target
    examples: NDArray[np.int64]  #: ``[N]`` the number of the example that each is from


def _phrases(classifier: Classifier, examples: Split, scored: Sequence[Logits]) -> _Phrases:
    """Logits and targets of all words and phrases.

    Systems that read words read each phrase by itself. In the others a node over one word is left out where
    its word has a target.
    """
    if classifier.system.reads == "words":
        phrases = examples.phrases()
        logits = torch.stack([scores.root for scores in classifier.logits(phrases)])
        return _Phrases(logits, torch.from_numpy(np.array(phrases.labels, np.int64)), phrases.sentences)
    all_logits, all_targets = [], []
    for number, scores in enumerate(scored):
        assert scores.places is not None
        example = examples[number]
        leaves, nodes = np.array(example.leaf_targets, np.int64), np.array(example.node_targets, np.int64)
        starts, ends = example.node_spans.T
        nodes[(ends - starts == 1) & (leaves[starts] != IGNORED)] = IGNORED
        all_logits.append(scores.places)
        all_targets.append(np.concatenate([leaves, nodes]))
    numbers = np.repeat(np.arange(len(examples)), [len(targets) for targets in all_targets])
    return _Phrases(torch.cat(all_logits), torch.from_numpy(np.concatenate(all_targets)), numbers)


def _right(logits: Tensor, targets: Tensor, *, halves: bool) -> tuple[Tensor, Tensor]:
    """``[N]`` each: whether a prediction is right, and whether it counts.

    With ``halves`` those of the middle class do not count.
    """
    counted = targets != IGNORED
    if halves and logits.shape[-1] % 2:
        counted &= targets != logits.shape[-1] // 2
    right = right_halves(logits, targets) if halves else right_classes(logits, targets)
    return right & counted, counted
