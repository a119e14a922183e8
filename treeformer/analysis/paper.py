"""The paper's numbers, to stand beside ours, and what tasks are called."""

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

# The paper's task that comes nearest, where it is another one.
NEAREST = {
    "agreement": "SVA of Linzen et al.",
    "multi30k-en-de": "IWSLT'14 En-De",
    "multi30k-de-en": "IWSLT'14 De-En",
    "multi30k-en-fr": "IWSLT'13 En-Fr",
    "multi30k-fr-en": "IWSLT'13 Fr-En",
    "iwslt14-57k-en-de": "IWSLT'14 En-De, all its pairs",
    "iwslt14-57k-de-en": "IWSLT'14 De-En, all its pairs",
}

_TRANSLATION = {
    "Tree2Seq": (24.01, 40.22, 29.95, 39.41),
    "Conv-Seq2Seq": (24.76, 39.51, 30.32, 39.56),
    "Transformer": (28.35, 43.75, 34.42, 42.84),
    "Dynamic Conv": (28.43, 43.72, 34.72, 43.08),
    "Tree Transformer": (29.47, 45.53, 35.96, 44.34),
}
_COLUMNS = {"en-de": 0, "en-fr": 1, "de-en": 2, "fr-en": 3}
_CLASSIFICATION = {
    "Transformer": {"sst5": 37.6, "sst2": 74.8, "imdb": 86.5, "agreement": 94.4},
    "BiLSTM": {"sst5": 35.1, "sst2": 76.0, "imdb": 85.8, "agreement": 95.1},
    "Tree-LSTM": {"sst5": 43.9, "sst2": 82.0, "agreement": 96.2},
    "Tree Transformer": {"sst5": 47.4, "sst2": 84.3, "imdb": 90.1, "agreement": 98.0},
}
_ABLATIONS = {
    "full": (29.47, 47.4),
    "no hierarchical embeddings": (29.20, 46.1),
    "no subtree mask": (29.05, 45.7),
    "neither": (28.98, 45.0),
}
ATTENTION = (59.0, 66.0)  #: percent of cross-attention on nodes, over the paper's tasks
POSITIONS = (34.0, 41.0)  #: percent of positions that are nodes
PARAMETERS = {"Transformer base": 61_747_200, "Tree Transformer base": 61_810_944}


def task_name(task: str) -> str:
    """What tables and pictures call a task."""
    return _TASKS.get(task, task)


def papers_score(name: str, task: str, label: str) -> float | None:
    """What the paper has for a line of a table, on the same task or the nearest; None if it has nothing.

    >>> papers_score("classification", "sst5", "Transformer, sentences")
    37.6
    >>> papers_score("classification", "sst5", "Transformer, every phrase")
    """
    if name == "classification":
        return _CLASSIFICATION.get(label.removesuffix(", sentences"), {}).get(task)
    if name == "translation" and label in _TRANSLATION:
        return _TRANSLATION[label][_COLUMNS[task[-5:]]]
    if name == "ablations" and label in _ABLATIONS:
        return _ABLATIONS[label][task == "sst5"]
    return None
