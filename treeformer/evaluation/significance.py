"""Is one system better than another, or was the test set kind to it? Paired bootstrap resampling."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

SAMPLES = 1000
_SEED = 12345  # that of sacrebleu


class Comparison(NamedTuple):
    """Two systems on the same examples.

    score, other: of the two.
    low, high: 95 % of the resampled differences lie between them; None where they are not known.
    p: how often a difference as large as this comes about by the choice of the examples alone.
    signature: how the scores were computed, if they have one.
    """

    score: float
    other: float
    low: float | None
    high: float | None
    p: float
    signature: str | None = None

    @property
    def difference(self) -> float:
        """How much better the first is."""
        return self.score - self.other


def compare_accuracy(right: Sequence[float], other: Sequence[float], samples: int = SAMPLES) -> Comparison:
    """Two classifiers by which of their answers are right; scores in percent.

    Of several runs of a classifier, ``right`` is the share of them whose answer to an example is right.

    Test sets of the same size are drawn from this one with replacement. As in sacrebleu, p is the share of
    them whose difference is at least as far from its mean as the measured one is from 0.
    """
    gains = np.array(right, np.float64) - np.array(other, np.float64)
    if not len(gains):
        raise ValueError("right: expected at least one answer, got none")
    chance = np.random.default_rng(_SEED)
    count = len(gains)
    drawn = np.array([gains[chance.integers(count, size=count)].mean() for _ in range(samples)])
    extreme = np.count_nonzero(np.abs(drawn - drawn.mean()) >= abs(gains.mean()))
    low, high = np.percentile(100 * drawn, [2.5, 97.5])
    return Comparison(
        100 * float(np.mean(right)),
        100 * float(np.mean(other)),
        float(low),
        float(high),
        float(extreme + 1) / (samples + 1),
    )


def compare_texts(
    metric: Metric,
    texts: Sequence[str],
    other: Sequence[str],
    references: Sequence[str],
    samples: int = SAMPLES,
) -> Comparison:
    """Two translators by one metric: the paired bootstrap of sacrebleu."""
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it tells how far it is
    test = PairedTest(
        [("other", list(other)), ("system", list(texts))],
        {"metric": metric},
        references=[list(references)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, results = test()
    ((name, (first, second)),) = ((key, value) for key, value in results.items() if key != "System")
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert second.p_value is not None
    p = 1.0 if first.score == second.score else second.p_value  # sacrebleu calls no difference significant
    return Comparison(second.score, first.score, None, None, p, str(signatures[name]))
