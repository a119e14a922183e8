"""Labels of words and phrases, from the logits of places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treeformer.data.reading import Reading
from treeformer.inference.answers import Classification, Phrase, check_answers


class Labelled(NamedTuple):
    """Places with their most probable class and the probabilities of all classes."""

    best: list[Any]
    probabilities: list[Any]


def labelled(logits: NDArray[np.floating[Any]]) -> Labelled:
    """The most probable classes and all probabilities of ``logits [..., classes]``, as nested lists."""
    check_answers(logits)
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(-1, keepdims=True)
    return Labelled(logits.argmax(-1).tolist(), probabilities.tolist())


def classification(
    reading: Reading,
    classes: Sequence[str],
    root: Labelled,
    places: Labelled | None,
    *,
    taught: bool,
    model: str,
) -> Classification:
    """The answer for one reading; a node over a single word replaces the answer of the word.

    Args:
        reading: what was read.
        classes: names of the classes.
        root: of the whole text.
        places: of the leaves and nodes of the example; None for models that read words alone.
        taught: whether the model learnt from labels of phrases.
        model: its name.
    """
    phrases: list[Phrase] = []
    if places is not None:
        best, probabilities = places
        for span, place in reading.places_of_spans.items():
            label, numbers = classes[best[place]], tuple(probabilities[place])
            phrases.append(Phrase(span, label, reading.text_of(span), numbers))
    return Classification(
        reading.text,
        classes[root.best[0]],
        tuple(root.probabilities[0]),
        reading.tree,
        tuple(phrases),
        reading.failures,
        taught,
        model=model,
    )
