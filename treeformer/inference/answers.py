"""What trained models answer. These dataclasses are also the JSON of the commands and of the service."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import InstanceOf, PlainSerializer, TypeAdapter, WithJsonSchema

from treeformer.parsing.failures import Failure
from treeformer.trees import Tree
from treeformer.trees.shape import Span

if TYPE_CHECKING:
    from torch import Tensor

#: A tree that JSON holds as brackets.
Brackets = Annotated[InstanceOf[Tree], PlainSerializer(str), WithJsonSchema({"type": "string"})]
Numbers = list[list[list[float]]]  #: ``[layers][heads][positions]``


@dataclass(frozen=True)
class Phrase:
    """A word or phrase and its class."""

    span: Span  #: span of words, half-open
    label: str
    text: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Effect:
    """What a word or phrase contributes to the class of a text.

    log_odds: how much it raises the log-odds (natural logarithm) of each class: the mean of its effect beside
        all other words and of its effect beside unknown words.
    towards: the class that it raises most; None if it changes nothing, like an unknown word.
    without: probabilities of all classes for the text in which its words are unknown.
    """

    span: Span  #: span of words, half-open
    text: str
    towards: str | None
    log_odds: tuple[float, ...]
    without: tuple[float, ...]

    @property
    def strength(self) -> float:
        """How much it raises the log-odds of the class that it raises most."""
        return max(self.log_odds)


@dataclass(frozen=True)
class Classification:
    """The class of a text, and of every phrase in it.

    text: as it was given; the words of a tree that was given.
    label: the most probable class.
    probabilities: probabilities of all classes, in their order.
    tree: the tree the model read, over whole words.
    phrases: every word and phrase in post-order, the whole text last; empty for models that read words
        alone.
    failures: sentences that the parser failed on; their trees are flat.
    phrases_taught: the model learnt from labels of phrases. If not, those in ``phrases`` mean nothing.
    effects: of every word and phrase, in the same order; empty unless asked for, see `Classifier.explain`.
    model: the name of the folder of the model that answered.
    """

    text: str
    label: str
    probabilities: tuple[float, ...]
    tree: Brackets
    phrases: tuple[Phrase, ...]
    failures: tuple[Failure, ...] = ()
    phrases_taught: bool = True
    effects: tuple[Effect, ...] = ()
    model: str = ""

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows: the tree in the colours of effects, else of classes."""
        from treeformer.inference.effect_pictures import explained_svg
        from treeformer.inference.pictures import classes_of, classified_svg

        draw = explained_svg if self.effects else classified_svg
        return draw(self, classes_of(self), adaptive=True)


@dataclass(frozen=True)
class Translation:
    """A translation.

    text: running text.
    tokens: its tokens.
    score: log-probability over the length to the power of the length penalty.
    failures: sentences of the source that the parser failed on; their trees are flat.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class WordAlignment:
    """Cross-attention of one word of a translation, mean over layers, heads and pieces.

    word: a word of the translation.
    nodes: the share of attention on nodes; the rest lies on leaves.
    weights: for each word of the source, then for each node in post-order.
    """

    word: str
    nodes: float
    weights: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class AlignedTranslation(Translation):
    """A translation with the source tree that the model read, and the attention of each target word."""

    tree: Brackets
    words: tuple[WordAlignment, ...]

    def _repr_html_(self) -> str:
        """What a notebook shows: each word of the translation, and what it attends to in the source."""
        from treeformer.inference.pictures import alignment_html

        return alignment_html(self)


@dataclass(frozen=True)
class Branch:
    """A branch of accumulation: a word, and the nodes above it up to the node that accumulates."""

    word: int
    nodes: tuple[int, ...]  #: from the node that accumulates down to the lowest


@dataclass(frozen=True)
class Accumulation:
    """What flows into a node; numbers are ``[layers][heads or 1][branches]``.

    weights: the leaf weight w of the word of each branch.
    flows: the norm of the vector that each branch adds to the value of the node, ``[layers][heads]``.
    """

    branches: tuple[Branch, ...]
    weights: Numbers
    flows: Numbers


@dataclass(frozen=True)
class PartAttention:
    """What one part of a tree attends to; parts are the words, then the nodes in post-order.

    weights: ``[layers][heads][parts]``, each row sums to one.
    visible: for each part whether the subtree mask shows it.
    probabilities: probabilities of the classes, for this part.
    accumulated: None for words, and for models without accumulation.
    """

    weights: Numbers
    visible: tuple[bool, ...]
    probabilities: tuple[float, ...]
    accumulated: Accumulation | None


def check_answers(numbers: Tensor | np.ndarray) -> None:
    """Raise ``ValueError`` if a model computed infinite or NaN values, which no answer can hold."""
    finite = np.isfinite(numbers) if isinstance(numbers, np.ndarray) else numbers.isfinite()
    if not finite.all():
        raise ValueError(
            "the model computes infinite or NaN values for this input; its weights are too large"
        )


def as_json(answer: Classification | Translation | PartAttention) -> dict[str, Any]:
    """The answer as a JSON-serialisable dict."""
    kind: Any = type(answer)
    return dict(_adapter(kind).dump_python(answer, mode="json"))


def to_json(answer: object) -> bytes:
    """An answer, or a dataclass that holds answers, as JSON."""
    kind: Any = type(answer)
    return _adapter(kind).dump_json(answer)


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
