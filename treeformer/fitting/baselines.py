"""Two baselines without trees: the most frequent class, and TF-IDF with logistic regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treeformer.evaluation.predictions import ClassPrediction
from treeformer.extras import require
from treeformer.fitting.rows import LabelledText

_STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # of the classifier; more: less regularisation
_FOLDS = 5

Probabilities = NDArray[np.float64]


def majority(
    train: Sequence[LabelledText], test: Sequence[LabelledText], classes: Sequence[str]
) -> list[ClassPrediction]:
    """The most frequent class of train for every text; probabilities are the shares of the classes."""
    counts = Counter(row.label for row in train)
    shares = np.array([counts[name] / len(train) for name in classes])
    return _predictions(test, classes, np.tile(shares, (len(test), 1)))


def tf_idf(
    train: Sequence[LabelledText], test: Sequence[LabelledText], classes: Sequence[str], seed: int
) -> list[ClassPrediction]:
    """Logistic regression on TF-IDF weights of words and pairs of words.

    Cross-validation on ``train`` chooses the strength of the regularisation.
    """
    require("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline

    labels = [row.label for row in train]
    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[^\w\s]"),
        LogisticRegression(max_iter=2000),
    )
    folds = StratifiedKFold(min(_FOLDS, *Counter(labels).values()), shuffle=True, random_state=seed)
    search = GridSearchCV(pipeline, {"logisticregression__C": _STRENGTHS}, cv=folds, scoring="neg_log_loss")
    search.fit([row.text for row in train], labels)
    columns = {name: number for number, name in enumerate(search.classes_)}
    order = [columns[name] for name in classes]
    return _predictions(test, classes, search.predict_proba([row.text for row in test])[:, order])


def _predictions(
    rows: Sequence[LabelledText], classes: Sequence[str], probabilities: Probabilities
) -> list[ClassPrediction]:
    """The most probable class of each row."""
    best = [classes[number] for number in probabilities.argmax(1)]
    return [
        ClassPrediction(row.text, len(row.text.split()), 0, row.label, name, name == row.label, tuple(shares))
        for row, name, shares in zip(rows, best, probabilities.tolist(), strict=True)
    ]
