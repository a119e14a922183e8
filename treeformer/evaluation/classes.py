"""Scores of each class: the confusion matrix, precision, recall and F1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ClassScore:
    """Counts of one class, and the percentages that follow from them.

    right: number of examples of the class that are predicted as this class.
    count: number of examples of the class.
    predicted: number of examples that are predicted as this class.
    """

    right: int
    count: int
    predicted: int

    @property
    def precision(self) -> float:
        """Share of right predictions among those of this class, in percent; 0 if there are none."""
        return 100 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the examples of this class that are predicted as such, in percent; 0 if there are none."""
        return 100 * self.right / self.count if self.count else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        both = self.count + self.predicted
        return 200 * self.right / both if both else 0.0


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of a classifier.

    classes: names of the classes in their order.
    matrix: for each class, a row with the number of its examples that are predicted as each class.

    >>> confusion = Confusion.of(["bad", "good"], ["bad", "bad", "good"], ["bad", "good", "good"])
    >>> confusion.matrix
    ((1, 1), (0, 1))
    >>> round(confusion.macro_f1, 1)
    66.7
    """

    classes: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, classes: Sequence[str], labels: Sequence[str], predicted: Sequence[str]) -> Confusion:
        """The matrix of predicted classes, given the right ones."""
        numbers = {name: number for number, name in enumerate(classes)}
        counts = np.zeros((len(classes), len(classes)), np.int64)
        np.add.at(counts, ([numbers[name] for name in labels], [numbers[name] for name in predicted]), 1)
        return cls(tuple(classes), tuple(map(tuple, counts.tolist())))

    @property
    def scores(self) -> dict[str, ClassScore]:
        """The scores of each class by its name."""
        counts = np.array(self.matrix)
        columns = (counts.diagonal().tolist(), counts.sum(1).tolist(), counts.sum(0).tolist())
        rows = zip(*columns, strict=True)
        return {name: ClassScore(*row) for name, row in zip(self.classes, rows, strict=True)}

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that have examples or predictions, in percent."""
        return fmean([score.f1 for score in self.scores.values() if score.count or score.predicted])

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""
        scores = {
            name: {
                "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
                "examples": score.count,
            }
            for name, score in self.scores.items()
        }
        return {"macro_f1": self.macro_f1, "classes": scores, "matrix": self.matrix}
