"""The paper's numbers, and the names of its tasks."""

from __future__ import annotations

_TASKS = {
    "sst5": "SST-5",
    "sst2": "SST-2",
    "imdb": "IMDB",
    "agreement": "SVA-AMALGUM",
    "multi30k-en-de": "Multi30k en→de",
    "multi30k-de-en": "Multi30k de→en",
    "multi30k-en-fr": "Multi30k en→fr",
    "multi30k-fr-en": "Multi30k fr→en",
    "iwslt14-57k-en-de": "IWSLT'14-57K en→de",
    "iwslt14-57k-de-en": "IWSLT'14-57K de→en",
    "europarl-en-de": "Europarl-100K en→de",
}

#: The most similar task of the paper, for tasks that the paper does not have.
NEAREST = {
    "agreement": "SVA of Linzen et al.",
    "multi30k-en-de": "IWSLT'14 En-De",
    "multi30k-de-en": "IWSLT'14 De-En",
    "multi30k-en-fr": "IWSLT'13 En-Fr",
    "multi30k-fr-en": "IWSLT'13 Fr-En",
    "iwslt14-57k-en-de": "IWSLT'14 En-De, all its pairs",
    "iwslt14-57k-de-en": "IWSLT'14 De-En, all its pairs",
}

_TRANSLATORS = ("Tree2Seq", "Conv-Seq2Seq", "Transformer", "Dynamic Conv", "Tree Transformer")
_TRANSLATION = {
    "en-de": dict(zip(_TRANSLATORS, (24.01, 24.76, 28.35, 28.43, 29.47), strict=True)),
    "en-fr": dict(zip(_TRANSLATORS, (40.22, 39.51, 43.75, 43.72, 45.53), strict=True)),
    "de-en": dict(zip(_TRANSLATORS, (29.95, 30.32, 34.42, 34.72, 35.96), strict=True)),
    "fr-en": dict(zip(_TRANSLATORS, (39.41, 39.56, 42.84, 43.08, 44.34), strict=True)),
}
_CLASSIFICATION = {
    "sst5": {"Transformer": 37.6, "BiLSTM": 35.1, "Tree-LSTM": 43.9, "Tree Transformer": 47.4},
    "sst2": {"Transformer": 74.8, "BiLSTM": 76.0, "Tree-LSTM": 82.0, "Tree Transformer": 84.3},
    "imdb": {"Transformer": 86.5, "BiLSTM": 85.8, "Tree Transformer": 90.1},
    "agreement": {"Transformer": 94.4, "BiLSTM": 95.1, "Tree-LSTM": 96.2, "Tree Transformer": 98.0},
}
_VARIANTS = ("full", "no hierarchical embeddings", "no subtree mask", "neither")
_ABLATIONS = {
    "multi30k-en-de": dict(zip(_VARIANTS, (29.47, 29.20, 29.05, 28.98), strict=True)),
    "sst5": dict(zip(_VARIANTS, (47.4, 46.1, 45.7, 45.0), strict=True)),
}
ATTENTION = (59.0, 66.0)  #: percent of cross-attention on nodes, range over the paper's tasks
POSITIONS = (34.0, 41.0)  #: percent of positions that are nodes
PARAMETERS = {"Transformer base": 61_747_200, "Tree Transformer base": 61_810_944}


def task_name(task: str) -> str:
    """The name of a task in tables and plots."""
    return _TASKS.get(task, task)


def papers_score(experiment: str, task: str, label: str) -> float | None:
    """The paper's score for a row, on the same task or the nearest one; None if it reports none.

    >>> papers_score("classification", "sst5", "Transformer, sentences")
    37.6
    >>> papers_score("classification", "sst5", "Transformer, every phrase")
    """
    if experiment == "classification":
        return _CLASSIFICATION[task].get(label.removesuffix(", sentences"))
    if experiment == "translation":
        return _TRANSLATION[task[-5:]].get(label)
    if experiment == "ablations":
        return _ABLATIONS[task].get(label)
    return None
