"""Paired bootstrap resampling: is one system better than another, beyond the choice of test examples?"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from treeformer.evaluation.predictions import (
    PHRASES,
    ClassPrediction,
    Prediction,
    column,
    expected,
    load_predictions,
    predictions_path,
)
from treeformer.evaluation.translation import text_bleu, token_bleu

SAMPLES = 1000
_SEED = 12345  # sacrebleu's seed
Runs = str | Path | Sequence[str | Path]


class Comparison(NamedTuple):
    """Scores of two systems on the same examples.

    score, other: the scores of the two systems.
    low, high: bounds of 95 % of the resampled differences; None where they are not known.
    p: probability of a difference at least this large by the choice of examples alone.
    signature: sacrebleu's signature of the scores; None for accuracy.
    """

    score: float
    other: float
    low: float | None
    high: float | None
    p: float
    signature: str | None = None

    @property
    def difference(self) -> float:
        """The first score minus the other."""
        return self.score - self.other


def compare(run: Runs, other: Runs, split: str = "test") -> dict[str, Comparison]:
    """Compare two systems by the predictions that `evaluate` saved; comparisons by name of the score.

    With several runs (seeds) of each system, an example counts for accuracy by the share of runs that are
    right. BLEU is compared run by run: scores are means over the pairs, and p is the largest.

    Args:
        run: the folder of a run, or of several in the order of their seeds.
        other: as many runs of the other system.
        split: the split that all of them were evaluated on.
    """
    folders, other_folders = ([runs] if isinstance(runs, str | Path) else [*runs] for runs in (run, other))
    if len(folders) != len(other_folders):
        raise ValueError(f"other: expected as many runs as {len(folders)}, got {len(other_folders)}")
    ours, others = (
        [load_predictions(predictions_path(folder, split)) for folder in group]
        for group in (folders, other_folders)
    )
    for folder, predictions in zip(folders + other_folders, ours + others, strict=True):
        if expected(predictions) != expected(ours[0]):
            raise ValueError(
                f"{folder}: its predictions for {split} are of another test set than those of {folders[0]}"
            )
    if isinstance(ours[0][0], ClassPrediction):
        comparisons = {"accuracy": compare_accuracy(_shares(ours, "right"), _shares(others, "right"))}
        counts = column(ours[0], "phrases")
        if any(counts) and all(column(predictions, "phrases") == counts for predictions in ours + others):
            right, other_right = _shares(ours, "phrases_right"), _shares(others, "phrases_right")
            comparisons[PHRASES] = compare_accuracy(right, other_right, counts)
        return comparisons
    return {
        "BLEU": _compare_pairs(text_bleu(), ours, others, "text", "reference"),
        "BLEU of tokens": _compare_pairs(token_bleu(), ours, others, "tokens", "reference_tokens"),
    }


def _shares(runs: Sequence[Sequence[Prediction]], name: str) -> list[float]:
    """The mean of a field over all runs, for each example."""
    shares: list[float] = np.mean([column(predictions, name) for predictions in runs], axis=0).tolist()
    return shares


def _compare_pairs(
    metric: Metric,
    ours: Sequence[Sequence[Prediction]],
    others: Sequence[Sequence[Prediction]],
    text: str,
    reference: str,
) -> Comparison:
    """Compare translators run by run: mean scores and the largest p."""
    references = column(ours[0], reference)
    pairs = [
        compare_texts(metric, column(run, text), column(other, text), references)
        for run, other in zip(ours, others, strict=True)
    ]
    scores, other_scores = [pair.score for pair in pairs], [pair.other for pair in pairs]
    worst = max(pair.p for pair in pairs)
    return Comparison(fmean(scores), fmean(other_scores), None, None, worst, pairs[0].signature)


def compare_accuracy(
    right: Sequence[float],
    other: Sequence[float],
    counts: Sequence[int] | None = None,
    samples: int = SAMPLES,
) -> Comparison:
    """Paired bootstrap of two classifiers; scores in percent.

    Test sets of the same size are drawn from this one with replacement. As in sacrebleu, p is the share of
    them whose difference is at least as far from its mean as the measured one is from 0.

    Args:
        right: for each example the number of right predictions; with several runs their mean.
        other: the corresponding values of the other classifier.
        counts: number of predictions for each example, one by default. The phrases of a sentence are drawn
            together, because they depend on each other.
        samples: number of test sets to draw.
    """
    if not len(right):
        raise ValueError("right: expected at least one prediction, got none")
    gains = np.array(right, np.float64) - np.array(other, np.float64)
    sizes = np.ones(len(gains)) if counts is None else np.array(counts, np.float64)
    generator = np.random.default_rng(_SEED)
    draws = (generator.integers(len(gains), size=len(gains)) for _ in range(samples))
    drawn = np.array([gains[draw].sum() / sizes[draw].sum() for draw in draws])
    extreme = np.count_nonzero(np.abs(drawn - drawn.mean()) >= abs(gains.sum() / sizes.sum()))
    low, high = np.percentile(100 * drawn, [2.5, 97.5])
    return Comparison(
        100 * float(np.sum(right) / sizes.sum()),
        100 * float(np.sum(other) / sizes.sum()),
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
    """Paired bootstrap of two translators by one metric, as sacrebleu does it."""
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it logs its progress
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
