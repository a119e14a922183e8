"""What the service answers, as JSON."""

from __future__ import annotations

from pydantic import BaseModel

from treeformer.serving.questions import Part

Span = tuple[int, int]
Numbers = list[list[list[float]]]


class PhraseAnswer(BaseModel):
    """A word or phrase and its class."""

    span: Span
    label: str
    text: str
    probabilities: list[float]


class FailureAnswer(BaseModel):
    """A sentence that the parser failed on."""

    sentence: str
    reason: str


class Classified(BaseModel):
    """What ``treeformer classify --json`` prints for one text."""

    text: str
    label: str
    probabilities: list[float]
    tree: str
    phrases: list[PhraseAnswer]
    failures: list[FailureAnswer]


class ClassifyAnswer(BaseModel):
    """One answer for each input."""

    model: str
    answers: list[Classified]


class ParsedText(BaseModel):
    """The trees of the sentences of one text."""

    text: str
    trees: list[str]


class ParseAnswer(BaseModel):
    """One answer for each input."""

    parser: str
    answers: list[ParsedText]


class LookedAnswer(BaseModel):
    """Where the model looked for one target word: words of the source, and then its nodes in post-order."""

    word: str
    nodes: float
    weights: list[float]


class Translated(BaseModel):
    """The best translation of one text, and if asked for the source and where the model looked."""

    text: str
    tokens: list[str]
    score: float
    failures: list[FailureAnswer]
    tree: str | None = None
    words: list[LookedAnswer] | None = None


class TranslateAnswer(BaseModel):
    """One answer for each input."""

    answers: list[Translated]


class BranchAnswer(BaseModel):
    """A word, and the nodes above it from the one that gathers down to the lowest."""

    word: int
    nodes: list[int]


class AccumulatedAnswer(BaseModel):
    """What flows into a node: numbers are ``[layers][heads or 1][branches]``."""

    branches: list[BranchAnswer]
    weights: Numbers
    flows: Numbers


class AttentionAnswer(BaseModel):
    """What one part attends to: numbers are ``[layers][heads][words and then nodes]``."""

    model: str
    tree: str
    part: Part
    weights: Numbers
    visible: list[bool]
    probabilities: list[float]
    accumulated: AccumulatedAnswer | None


class ClassMark(BaseModel):
    """A class, its mark and its colour."""

    name: str
    mark: str
    colour: str


class ModelAnswer(BaseModel):
    """A model that is loaded."""

    name: str
    title: str
    system: str
    classes: list[ClassMark]
    labels: list[str]
    attention: bool
    hierarchical_embeddings: bool


class ModelsAnswer(BaseModel):
    """All that a page needs to know about the service."""

    models: list[ModelAnswer]
    parsers: list[str]
    translation: str | None
    limits: dict[str, float]


class Health(BaseModel):
    """The service is up."""

    status: str = "ok"
    version: str
