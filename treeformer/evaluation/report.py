"""Evaluation of a run on a split of a prepared corpus: predictions, scores and their provenance."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from treeformer.configuration import printable
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.processor import TreeProcessor
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.classes import Confusion
from treeformer.evaluation.predictions import (
    ClassPrediction,
    Prediction,
    column,
    predict_classes,
    predict_translations,
    predictions_path,
    save_predictions,
)
from treeformer.evaluation.translation import TextScore, score_translations
from treeformer.evaluation.treebank import tens
from treeformer.inference.classifier import Classifier
from treeformer.inference.loading import load_run, run_facts
from treeformer.inference.translator import Translator
from treeformer.machine import machine
from treeformer.storage import write_json

Score = Accuracy | TextScore
Parts = Mapping[str, tuple[int, Score]]
_RUN_FACTS = ("seed", "finished", "updates", "best_step", "averaged", "parameters", "corpus")


@dataclass(frozen=True)
class Report:
    """Scores of a run on a split; ``print(report)`` shows them with their intervals or signatures.

    scores: the scores by name; the first is the main score.
    by_length: number of examples and main score for lengths of 1 to 10 words, 11 to 20, and so on.
    by_group: number of examples and main score by group, such as attractors; empty if there is one group.
    facts: split, number of examples, seconds, device, versions, decoding options, facts about the run.
    confusion: the confusion matrix and the scores of each class; None for translations and for halves.
    """

    scores: Mapping[str, Score]
    by_length: Parts
    by_group: Parts
    facts: Mapping[str, Any]
    confusion: Confusion | None = None

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""

        def entries(parts: Parts) -> dict[str, Any]:
            return {key: {"examples": count, **score.as_json()} for key, (count, score) in parts.items()}

        return {
            "scores": {name: score.as_json() for name, score in self.scores.items()},
            "by_length": entries(self.by_length),
            "by_group": entries(self.by_group),
            **({} if self.confusion is None else {"confusion": self.confusion.as_json()}),
            **self.facts,
        }

    def __str__(self) -> str:
        facts = self.facts
        decoding = "".join(f", {name.replace('_', ' ')} {value}" for name, value in facts["decoding"].items())
        width = max(map(len, self.scores))
        return "\n".join(
            [
                f"{facts['split']}: {facts['examples']} examples, {facts['seconds']} s on {facts['device']}"
                f"{decoding}",
                *(f"{name:<{width}}  {score}" for name, score in self.scores.items()),
            ]
        )


def evaluate(
    run: str | Path,
    split: str = "test",
    data: str | Path | None = None,
    *,
    device: str | None = None,
    bf16: bool = False,
    batch: int = 64,
    beams: int | None = None,
    length_penalty: float | None = None,
) -> Report:
    """Score the model of a run on a split; predictions and scores are saved in ``RUN/predictions``.

    Args:
        run: the folder of the run.
        split: the split of the prepared corpus.
        data: the prepared corpus; by default the one that the model was trained on.
        device, bf16: see `load_run`.
        batch, beams, length_penalty: options of a translator; by default those of the recipe.

    >>> report = evaluate("runs/sst5")  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP
    test: 2210 examples, 1.23 s on cpu (x86_64)
    accuracy  44.71  988 of 2210, 95 %: 42.64 to 46.79
    """
    run = Path(run)
    loaded = load_run(run, device=device, bf16=bf16)
    corpus = corpus_of(run, data, loaded.processor)
    if not len(corpus[split]):
        raise ValueError(f"{corpus.folder}: the split {split} has no examples")
    start = time.perf_counter()
    predictions: Sequence[Prediction]
    decoding: dict[str, Any] = {}
    more: Mapping[str, Score] = {}
    classes: tuple[str, ...] = ()
    if loaded.processor.settings.kind == "translation":
        defaults: Any = loaded.model.generation_config
        decoding["beams"] = defaults.num_beams if beams is None else beams
        decoding["length_penalty"] = defaults.length_penalty if length_penalty is None else length_penalty
        predictions = predict_translations(Translator(loaded, batch=batch), corpus, split, **decoding)
    else:
        predictions, more = predict_classes(Classifier(loaded), corpus, split)
        classes = () if corpus.manifest.halves else loaded.processor.settings.classes
    about_run = run_facts(run)
    facts: dict[str, Any] = {
        "split": split,
        "examples": len(predictions),
        "seconds": round(time.perf_counter() - start, 2),
        "decoding": decoding,
        "bf16": bf16,
        "run": {name: about_run[name] for name in _RUN_FACTS if name in about_run},
        **machine(loaded.model.device),
    }
    facts["versions"]["sacrebleu"] = metadata.version("sacrebleu")
    report = _report(predictions, more, classes, facts)
    path = predictions_path(run, split)
    save_predictions(path, predictions)
    write_json(path.with_suffix(".scores.json"), report.as_json())
    return report


def value(score: Score) -> float:
    """The number of a score: an accuracy in percent, or points of BLEU or chrF."""
    return score.percent if isinstance(score, Accuracy) else score.score


def corpus_of(run: Path, data: str | Path | None, processor: TreeProcessor) -> PreparedCorpus:
    """The corpus of a run, or another one prepared with the same tokens, labels and classes."""
    folder = data or run_facts(run).get("prepared")
    if not isinstance(folder, str | Path) or not Path(folder).is_dir():
        where = "is not known" if folder is None else f"was {printable(str(folder))}, which is no folder"
        raise ValueError(f"{run}: its prepared corpus {where}; name it with --data PREPARED")
    corpus = PreparedCorpus.open(folder)
    for name in ("kind", "classes", "labels"):
        if getattr(processor.settings, name) != getattr(corpus.processor.settings, name):
            raise ValueError(f"{folder}: prepared for another model than {run}, which has other {name}")
    if processor.vocabulary.tokenizer.to_str() != corpus.processor.vocabulary.tokenizer.to_str():
        raise ValueError(f"{folder}: prepared for another model than {run}, which has other tokens")
    return _with_states_of(corpus, run, processor)


def _with_states_of(corpus: PreparedCorpus, run: Path, processor: TreeProcessor) -> PreparedCorpus:
    """The corpus with the stored states of the frozen encoder of a model, if it has them.

    ``ValueError`` if it was prepared with another encoder.
    """
    encoder, facts = processor.settings.encoder, corpus.manifest.encoder
    if (encoder and encoder.sha256) != (facts and facts.sha256):
        raise ValueError(f"{corpus.folder}: prepared for another model than {run}, which has another encoder")
    if encoder is None or facts is None or encoder.inside or encoder.layers != facts.layers:
        return corpus
    return corpus.with_states() if corpus.manifest.states else corpus


def _report(
    predictions: Sequence[Prediction],
    more: Mapping[str, Score],
    classes: Sequence[str],
    facts: Mapping[str, Any],
) -> Report:
    """Scores of all predictions, by length, by group, and by class if there are ``classes``."""
    lengths = _scores_by(predictions, lambda prediction: tens(prediction.length))
    groups = _scores_by(predictions, lambda prediction: prediction.group)
    return Report(
        {**_scores(predictions), **more},
        {f"{first}-{last}": part for (first, last), part in lengths.items()},
        {str(group): part for group, part in groups.items()} if len(groups) > 1 else {},
        facts,
        Confusion.of(classes, column(predictions, "label"), column(predictions, "predicted"))
        if classes
        else None,
    )


def _scores(predictions: Sequence[Prediction]) -> dict[str, Score]:
    """Scores by name, the main score first."""
    if isinstance(predictions[0], ClassPrediction):
        return {"accuracy": Accuracy(sum(column(predictions, "right")), len(predictions))}
    texts = column(predictions, "text"), column(predictions, "reference")
    tokens = column(predictions, "tokens"), column(predictions, "reference_tokens")
    return dict(score_translations(*texts, *tokens))


def _scores_by(
    predictions: Sequence[Prediction], key: Callable[[Prediction], Any]
) -> dict[Any, tuple[int, Score]]:
    """Number of examples and main score for each key, in the order of the keys."""
    groups = defaultdict(list)
    for prediction in predictions:
        groups[key(prediction)].append(prediction)
    return {name: (len(groups[name]), next(iter(_scores(groups[name]).values()))) for name in sorted(groups)}
