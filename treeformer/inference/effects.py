"""Effects of phrases: how a classifier answers without each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from treeformer.chunking import split_by_total
from treeformer.data.examples import Example, ExampleList
from treeformer.data.reading import Reading
from treeformer.inference.answers import Classification, Effect, check_answers
from treeformer.trees.shape import Span

if TYPE_CHECKING:
    from treeformer.inference.classifier import Classifier

_LEAST = 0.001  # log-odds that are more than rounding
_TOKENS = 1 << 18  # leaves and nodes of the texts that are kept in memory at once


def explained(classifier: Classifier, readings: Iterable[Reading]) -> list[Classification]:
    """The classification of each reading, with the effect of every word and phrase."""
    readings = list(readings)
    answers = classifier.classify(readings)
    return [
        replace(answer, effects=tuple(_effects(classifier, reading)))
        for reading, answer in zip(readings, answers, strict=True)
    ]


def _effects(classifier: Classifier, reading: Reading) -> list[Effect]:
    """The effect of every word and phrase of a text, the whole text last."""
    size = len(reading.tree.words)
    everything = frozenset(range(size))
    whole, nothing = _logits(classifier, reading, [frozenset(), everything])
    effects = []
    for spans in split_by_total(
        reading.places_of_spans, lambda _: 2 * (reading.leaves + len(reading.tree)), budget=_TOKENS
    ):
        inside = [frozenset(range(*span)) for span in spans]
        hidden = [*inside, *(everything - words for words in inside)]
        without, alone = _logits(classifier, reading, hidden).chunk(2)
        raised = log_odds(whole) - log_odds(without) + log_odds(alone) - log_odds(nothing)
        effects += _named(classifier.classes, reading, spans, raised / 2, without)
    return effects


def _logits(classifier: Classifier, reading: Reading, hidden: Sequence[frozenset[int]]) -> Tensor:
    """``[texts, classes]`` in float64: logits of the text in which the words of each set are unknown."""
    examples: list[Example] = [classifier.processor.hide(reading, words) for words in hidden]
    logits = torch.stack([answer.root for answer in classifier.logits(ExampleList(examples))])
    check_answers(logits)
    return logits.double()


def log_odds(logits: Tensor) -> Tensor:
    """The log-odds of each class against all others, from ``logits [..., classes]``; 0 if there is one."""
    classes = logits.shape[-1]
    if classes == 1:
        return torch.zeros_like(logits)
    others = logits[..., None, :].expand(*logits.shape, classes)
    own = torch.eye(classes, dtype=torch.bool)
    return logits - others.masked_fill(own, -torch.inf).logsumexp(-1)


def _named(
    classes: Sequence[str], reading: Reading, spans: Sequence[Span], raised: Tensor, without: Tensor
) -> list[Effect]:
    """An effect for each span, from tensors ``[spans, classes]``."""
    rows = zip(spans, raised.argmax(-1).tolist(), raised.tolist(), without.softmax(-1).tolist(), strict=True)
    return [
        Effect(
            span,
            reading.text_of(span),
            classes[best] if numbers[best] >= _LEAST else None,
            tuple(numbers),
            tuple(probabilities),
        )
        for span, best, numbers, probabilities in rows
    ]
