"""The report of a fit: what the model gets right, what baselines get, and what goes wrong."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.classes import Confusion
from treeformer.evaluation.predictions import ClassPrediction
from treeformer.evaluation.significance import Comparison
from treeformer.fitting.document import Block, Code, Heading, Paragraph, Table

MODEL, WITHOUT_TREES = "tree model", "same encoder without trees"
TF_IDF, MAJORITY = "TF-IDF with logistic regression", "most frequent class"
_SURE = 0.05  # p below which a difference counts
_MISTAKES = 10
_LETTERS = 300  # of a text in the list of mistakes


@dataclass(frozen=True)
class SystemScores:
    """Scores of one system on test, and the tree model compared with it.

    against: the tree model against this system; None for the tree model.
    """

    accuracy: Accuracy
    confusion: Confusion
    against: Comparison | None = None

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""
        entry = {"accuracy": self.accuracy.as_json(), **self.confusion.as_json()}
        if self.against is None:
            return entry
        return {**entry, "tree_model_minus_this": self.against.difference, "p": self.against.p}


@dataclass(frozen=True)
class Facts:
    """What a report says about the data and the training.

    title: name of the data.
    counts: number of rows by split and class.
    remarks: sentences about rows that were left out or contradict each other.
    training: one sentence about the model and how it was trained.
    run: folder of the run.
    """

    title: str
    counts: Mapping[str, Mapping[str, int]]
    remarks: Sequence[str]
    training: str
    run: Path


@dataclass(frozen=True)
class Mistake:
    """A wrong prediction on test, and the row that it is about."""

    prediction: ClassPrediction
    text: str
    location: str

    @property
    def confidence(self) -> float:
        """The probability of the predicted class."""
        return max(self.prediction.probabilities)


def report_blocks(
    scores: Mapping[str, SystemScores], mistakes: Sequence[Mistake], facts: Facts
) -> list[Block]:
    """The blocks of a report."""
    return [
        Heading(f"{facts.title}: how well labels are predicted", 1),
        Paragraph(finding(scores), lead=True),
        _scores_table(scores),
        Paragraph(_reading(scores)),
        Heading("Each class"),
        _class_table(scores),
        Heading("Confusion matrix of the tree model"),
        Paragraph("One row for each class of the texts, one column for each predicted class."),
        _matrix(scores[MODEL].confusion),
        Heading("Most confident mistakes"),
        *_mistakes(mistakes),
        Heading("Ask the model"),
        Code(ask_command(facts.run)),
        Heading("Data and training"),
        _counts_table(facts.counts),
        *[Paragraph(remark) for remark in [*facts.remarks, facts.training]],
    ]


def finding(scores: Mapping[str, SystemScores]) -> str:
    """The result in one sentence."""
    names = {TF_IDF: TF_IDF, WITHOUT_TREES: f"the {WITHOUT_TREES}"}
    parts = [_compared(title, scores[name]) for name, title in names.items() if name in scores]
    accuracy = f"The tree model labels {scores[MODEL].accuracy.percent:.1f} % of the test texts correctly"
    return f"{accuracy}: {', and '.join(parts)}."


def _compared(name: str, other: SystemScores) -> str:
    """How the tree model compares with another system."""
    assert other.against is not None
    difference = other.against.difference
    if other.against.p >= _SURE:
        return f"{difference:+.1f} points against {name}, which may be chance"
    if difference > 0:
        return f"{difference:.1f} points more than {name}"
    return f"{-difference:.1f} points less than {name}, which is the better choice here"


def ask_command(run: Path) -> str:
    """The command that classifies a text with the model."""
    return f'treeformer classify --model {shlex.quote(str(run))} "Your text."'


def _scores_table(scores: Mapping[str, SystemScores]) -> Table:
    rows = []
    for name, one in scores.items():
        low, high = one.accuracy.interval or (0.0, 100.0)
        against = ["", ""]
        if one.against is not None:
            against = [f"{one.against.difference:+.1f}", f"{one.against.p:.3f}"]
        numbers = [f"{one.accuracy.percent:.1f}", f"{low:.1f} to {high:.1f}", f"{one.confusion.macro_f1:.1f}"]
        rows.append([name, *numbers, *against])
    return Table(["", "accuracy, %", "95 % interval", "macro F1", "tree model minus this", "p"], rows)


def _reading(scores: Mapping[str, SystemScores]) -> str:
    count = scores[MODEL].accuracy.count
    return (
        f"Accuracy on {count:,} test texts that took no part in training or in any choice. The interval is "
        "Wilson's. Macro F1 is the mean of the F1 of all classes, so rare classes count as much as frequent "
        "ones. p is the probability of a difference at least this large by the choice of test texts alone "
        f"(paired bootstrap); below {_SURE} it is unlikely to be chance. The tree model was trained once."
    )


def _class_table(scores: Mapping[str, SystemScores]) -> Table:
    model, other = scores[MODEL].confusion.scores, scores[TF_IDF].confusion.scores
    rows = [
        [
            name,
            str(one.count),
            f"{one.precision:.1f}",
            f"{one.recall:.1f}",
            f"{one.f1:.1f}",
            f"{other[name].f1:.1f}",
        ]
        for name, one in model.items()
    ]
    return Table(["class", "test texts", "precision", "recall", "F1", "F1 of TF-IDF"], rows)


def _matrix(confusion: Confusion) -> Table:
    rows, shades = [], []
    for name, counts in zip(confusion.classes, confusion.matrix, strict=True):
        rows.append([name, *map(str, counts)])
        shades.append([0.0, *(count / max(sum(counts), 1) for count in counts)])
    return Table(["", *(f"predicted {name}" for name in confusion.classes)], rows, shades=shades)


def _mistakes(mistakes: Sequence[Mistake]) -> list[Block]:
    if not mistakes:
        return [Paragraph("The tree model makes no mistake on these test texts.")]
    worst = sorted(mistakes, key=lambda mistake: -mistake.confidence)[:_MISTAKES]
    rows = [
        [
            _short(one.text),
            one.prediction.label,
            f"{one.prediction.predicted} ({one.confidence:.0%})",
            one.location,
        ]
        for one in worst
    ]
    note = "A wrong label in the data also looks like this: read these rows."
    return [Paragraph(note), Table(["text", "label", "predicted", "row"], rows, frozenset({0, 1, 2, 3}))]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[:_LETTERS]}…"


def _counts_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    classes = sorted({name for split in counts.values() for name in split})
    rows = [
        [split, *(str(numbers.get(name, 0)) for name in classes), str(sum(numbers.values()))]
        for split, numbers in counts.items()
    ]
    return Table(["split", *classes, "all"], rows)
