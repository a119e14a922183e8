"""Accuracy of a classifier, with a confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

_QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %


@dataclass(frozen=True)
class Accuracy:
    """The share of right predictions.

    right: number of right predictions.
    count: number of predictions.
    independent: False where predictions depend on each other, such as those for phrases of one sentence.

    >>> accuracy = Accuracy(47, 100)
    >>> accuracy.percent, [round(bound, 1) for bound in accuracy.interval]
    (47.0, [37.5, 56.7])
    """

    right: int
    count: int
    independent: bool = True

    @classmethod
    def of(cls, right: Tensor, counted: Tensor, *, independent: bool = True) -> Accuracy:
        """The accuracy of predictions ``[N]`` that are right, among those ``[N]`` that count."""
        return cls(int(right.sum()), int(counted.sum()), independent)

    @property
    def percent(self) -> float:
        """Accuracy in percent."""
        return 100 * self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % confidence interval in percent; None where predictions depend on each other."""
        if not self.count or not self.independent:
            return None
        share, z = self.right / self.count, _QUANTILE
        scale = 1 + z * z / self.count
        middle = (share + z * z / (2 * self.count)) / scale
        reach = z / scale * math.sqrt(share * (1 - share) / self.count + (z / (2 * self.count)) ** 2)
        return 100 * max(0.0, middle - reach), 100 * min(1.0, middle + reach)

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""
        entry = {"percent": self.percent, "right": self.right, "count": self.count}
        return entry if self.interval is None else {**entry, "interval": self.interval}

    def __str__(self) -> str:
        share = f"{self.percent:.2f}  {self.right} of {self.count}"
        if self.interval is None:
            return share
        low, high = self.interval
        return f"{share}, 95 %: {low:.2f} to {high:.2f}"


def right_classes(logits: Tensor, classes: Tensor) -> Tensor:
    """``[...]``, True where the most probable class of ``logits [..., classes]`` is the given one."""
    return logits.argmax(-1) == classes


def right_halves(logits: Tensor, classes: Tensor) -> Tensor:
    """``[...]``, True where the predicted half of ordered classes is the right one.

    The upper half is predicted if its classes are together more probable than those of the lower half: with
    the five classes of SST, positive iff p3 + p4 > p0 + p1 (SST-2).
    """
    probabilities = logits.float().softmax(-1)
    half, count = logits.shape[-1] // 2, logits.shape[-1]
    above = probabilities[..., count - half :].sum(-1) > probabilities[..., :half].sum(-1)
    return above == (classes >= count - half)
