"""A run on a split of a prepared corpus: answers, scores, and where and how they were made."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.processor import TreeProcessor
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.answers import (
    Answer,
    classified,
    load_answers,
    save_answers,
    translated,
)
from treeformer.evaluation.breakdown import by_group, by_length
from treeformer.evaluation.significance import Comparison, compare_accuracy, compare_texts
from treeformer.evaluation.translation import (
    TextScore,
    Translated,
    score_translations,
    text_bleu,
    token_bleu,
)
from treeformer.inference.classifier import Classifier
from treeformer.inference.loading import Loaded, load_run, run_facts
from treeformer.inference.translator import Translator
from treeformer.machine import machine
from treeformer.storage import write_file

Score = Accuracy | TextScore


@dataclass(frozen=True)
class Report:
    """What an evaluation found.

    scores: by name.
    by_length: the first score of the examples of 1 to 10 words, 11 to 20, and so on, with their number.
    by_group: the same by group, such as the number of attractors; nothing where there is one group.
    facts: split, number of examples, seconds, device, versions, and about the run.
    """

    scores: Mapping[str, Score]
    by_length: Mapping[str, tuple[int, Score]]
    by_group: Mapping[str, tuple[int, Score]]
    facts: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The same for a program to read."""
        return {
            "scores": {name: _entry(score) for name, score in self.scores.items()},
            **{
                name: {key: {"examples": count, **_entry(score)} for key, (count, score) in parts.items()}
                for name, parts in (("by_length", self.by_length), ("by_group", self.by_group))
            },
            **self.facts,
        }


def evaluate(
    run: str | Path,
    split: str = "test",
    *,
    data: str | Path | None = None,
    device: str | None = None,
    bf16: bool = False,
    batch: int = 64,
    beams: int | None = None,
    length_penalty: float | None = None,
) -> Report:
    """Let the model of a run answer a split; the answers and scores go to ``RUN/predictions``.

    Args:
        run: the folder of the run.
        split: which examples.
        data: the prepared corpus; by default the one that the model was trained on.
        device, bf16: see `load_run`.
        batch, beams, length_penalty: how a translator decodes; by default as the recipe says.
    """
    run = Path(run)
    loaded = load_run(run, device=device, bf16=bf16)
    corpus = corpus_of(run, data, loaded.processor)
    if not len(corpus[split]):
        raise ValueError(f"{corpus.folder}: the split {split} has no examples")
    decoding = _decoding(loaded, beams, length_penalty)
    start = time.perf_counter()
    more: Mapping[str, Accuracy] = {}
    if loaded.processor.settings.kind == "translation":
        answers = translated(Translator(loaded, batch=batch), corpus, split, **decoding)
    else:
        answers, more = classified(Classifier(loaded), corpus, split)
    seconds = time.perf_counter() - start
    facts: dict[str, Any] = {
        "split": split,
        "examples": len(answers),
        "seconds": round(seconds, 2),
        "decoding": decoding,
        "bf16": bf16,
        **_about(run),
        **machine(loaded.model.device),
    }
    facts["versions"]["sacrebleu"] = metadata.version("sacrebleu")
    report = _report(answers, more, facts)
    save_answers(answers_path(run, split), answers)
    content = json.dumps(report.as_json(), ensure_ascii=False, indent=1)
    write_file(answers_path(run, split).with_suffix(".scores.json"), f"{content}\n".encode())
    return report


def corpus_of(run: Path, data: str | Path | None, processor: TreeProcessor) -> PreparedCorpus:
    """The corpus that a run was trained on, or another one with the same tokens, labels and classes."""
    folder = data or run_facts(run).get("prepared")
    if folder is None or not Path(folder).is_dir():
        where = "is not known" if folder is None else f"was {folder}, which is no folder"
        raise ValueError(f"{run}: its prepared corpus {where}; name it with --data PREPARED")
    corpus = PreparedCorpus.open(folder)
    own, other = processor.settings, corpus.processor.settings
    for what in ("kind", "classes", "labels"):
        if getattr(own, what) != getattr(other, what):
            raise ValueError(f"{folder}: prepared for another model than {run}, which has other {what}")
    if processor.vocabulary.tokenizer.to_str() != corpus.processor.vocabulary.tokenizer.to_str():
        raise ValueError(f"{folder}: prepared for another model than {run}, which has other tokens")
    return corpus


def compare(run: str | Path, other: str | Path, split: str) -> dict[str, Comparison]:
    """Two runs by the answers that `evaluate` saved for both: paired bootstraps, by name of the score."""
    own, others = (load_answers(answers_path(folder, split)) for folder in (run, other))
    should = "reference" if "reference" in own[0] else "label"
    if len(own) != len(others) or any(
        one[should] != two.get(should) for one, two in zip(own, others, strict=True)
    ):
        raise ValueError(f"{other}: its predictions for {split} are of another test set than those of {run}")
    if should == "label":
        return {"accuracy": compare_accuracy(_column(own, "right"), _column(others, "right"))}
    columns = {
        "BLEU": (text_bleu(), "text", "reference"),
        "BLEU of tokens": (token_bleu(), "tokens", "reference_tokens"),
    }
    return {
        name: compare_texts(metric, _column(own, key), _column(others, key), _column(own, reference))
        for name, (metric, key, reference) in columns.items()
    }


def answers_path(run: str | Path, split: str) -> Path:
    """Where the answers of a run stand."""
    return Path(run) / "predictions" / f"{split}.jsonl"


def _column(answers: Sequence[Answer], name: str) -> list[Any]:
    return [answer[name] for answer in answers]


def _report(answers: Sequence[Answer], more: Mapping[str, Score], facts: Mapping[str, Any]) -> Report:
    """Scores of all answers and of parts of them."""

    def parts(groups: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, Score]]:
        chosen = {key: [answers[number] for number in numbers] for key, numbers in groups.items()}
        return {key: (len(own), _first(own)) for key, own in chosen.items()}

    return Report(
        {**_scores(answers), **more},
        parts(by_length([answer["length"] for answer in answers])),
        parts(by_group([answer["group"] for answer in answers])),
        facts,
    )


def _scores(answers: Sequence[Answer]) -> dict[str, Score]:
    if "right" in answers[0]:
        return {"accuracy": Accuracy(sum(answer["right"] for answer in answers), len(answers))}
    pairs = [Translated(*(answer[name] for name in Translated._fields)) for answer in answers]
    return dict(score_translations(pairs))


def _first(answers: Sequence[Answer]) -> Score:
    return next(iter(_scores(answers).values()))


def _decoding(loaded: Loaded, beams: int | None, length_penalty: float | None) -> dict[str, Any]:
    """How a translator decodes; nothing for a classifier."""
    if loaded.processor.settings.kind != "translation":
        return {}
    usual: Any = loaded.model.generation_config
    return {
        "beams": usual.num_beams if beams is None else beams,
        "length_penalty": usual.length_penalty if length_penalty is None else length_penalty,
    }


def _about(run: Path) -> dict[str, Any]:
    """How the model came about."""
    facts = run_facts(run)
    wanted = ("seed", "finished", "updates", "best_step", "averaged", "parameters", "corpus")
    return {"run": {name: facts[name] for name in wanted if name in facts}}


def _entry(score: Score) -> dict[str, Any]:
    if isinstance(score, TextScore):
        return score._asdict()
    entry = {"percent": score.percent, "right": score.right, "count": score.count}
    return entry if score.interval is None else {**entry, "interval": score.interval}
