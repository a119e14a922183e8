"""The JSON of requests and responses; answers are the dataclasses of `treeformer.inference.answers`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from treeformer.inference.answers import (
    AlignedTranslation,
    Brackets,
    Classification,
    PartAttention,
    Translation,
)
from treeformer.parsing.failures import Failure
from treeformer.serving.limits import Limits
from treeformer.trees.shape import Span

EMBEDDED = "embedded"  #: the name of the model's parser in requests
TreeShape = Literal["parsed", "balanced", "left", "right", "random"]

Trees = Annotated[bool, Field(description="The inputs are trees in brackets.")]
Exact = Annotated[
    bool, Field(description="Read given trees as they are. By default they are made binary, as in training.")
]
ModelName = Annotated[str, Field(description="Name of a model, see /v1/models.", max_length=100)]
ParserName = Annotated[
    str, Field(description="Name of the parser for texts, see /v1/models.", max_length=100)
]


class _Strict(BaseModel):
    """JSON that is read: types are not converted, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _InputsRequest(_Strict):
    """A request with one or more inputs."""

    inputs: Annotated[list[str], Field(min_length=1, description="Texts, or trees in brackets.")]

    def located_texts(self) -> list[tuple[str, str]]:
        """Each input with its place in the request, as error messages name it."""
        return [(f"inputs[{number}]", text) for number, text in enumerate(self.inputs)]


class ParseRequest(_InputsRequest):
    """Texts to parse."""

    parser: ParserName = EMBEDDED


class ClassifyRequest(_InputsRequest):
    """Texts or trees to classify."""

    trees: Trees = False
    exact: Exact = False
    shape: Annotated[TreeShape, Field(description="Read a control tree over the words instead.")] = "parsed"
    seed: Annotated[int, Field(ge=0, lt=2**31, description="Seed of random trees.")] = 1
    effects: Annotated[bool, Field(description="Include the effect of each word and phrase.")] = False
    model: ModelName = "main"
    parser: ParserName = EMBEDDED


class TranslateRequest(_InputsRequest):
    """Texts or trees to translate."""

    trees: Trees = False
    attention: Annotated[bool, Field(description="Include the attention of each word.")] = False


class PartReference(_Strict):
    """A word of a tree, or a node in post-order."""

    kind: Literal["word", "node"]
    index: Annotated[int, Field(ge=0, lt=2**31)]


class AttentionRequest(_Strict):
    """A text or tree, and the part of it whose attention is asked for."""

    input: Annotated[str, Field(description="A text, or a tree in brackets.")]
    trees: Trees = False
    exact: Exact = False
    part: Annotated[PartReference | None, Field(description="Default: the root.")] = None
    hierarchical_embeddings: Annotated[
        bool, Field(description="False leaves the hierarchical embeddings of the model out.")
    ] = True
    model: ModelName = "main"

    def located_texts(self) -> list[tuple[str, str]]:
        """The input with its place in the request, as error messages name it."""
        return [("input", self.input)]


class LanguageRequest(_InputsRequest):
    """Texts whose language is asked for."""


ServiceRequest = ParseRequest | ClassifyRequest | TranslateRequest | AttentionRequest


def batch_key(request: ServiceRequest) -> Hashable:
    """A key that is equal for requests that can be answered together."""
    match request:
        case ClassifyRequest():
            return type(request), request.model, request.effects, request.parser
        case AttentionRequest():
            return type(request), request.model
        case TranslateRequest():
            return type(request), request.attention
        case ParseRequest():
            return type(request), request.parser


@dataclass(frozen=True)
class ParsedText:
    """The trees of the sentences of one text, and the sentences that the parser failed on."""

    text: str
    trees: tuple[Brackets, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class ParseResponse:
    """One answer for each input."""

    parser: str
    answers: tuple[ParsedText, ...]


@dataclass(frozen=True)
class LanguageResponse:
    """The language of each input, as a code of ISO 639."""

    languages: tuple[str, ...]


@dataclass(frozen=True)
class ClassifiedPhrase:
    """A word or phrase and its class; its text is what ``span`` covers of the leaves of the tree."""

    span: Span
    label: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class PhraseEffect:
    """What a word or phrase contributes, see `treeformer.inference.Effect`; its text is as above."""

    span: Span
    towards: str | None
    log_odds: tuple[float, ...]
    without: tuple[float, ...]


@dataclass(frozen=True)
class ClassifiedText:
    """The class of a text and of its phrases: a `Classification` whose phrases do not repeat their text.

    The texts of all phrases together grow with the square of the number of words.
    """

    text: str
    label: str
    probabilities: tuple[float, ...]
    tree: Brackets
    phrases: tuple[ClassifiedPhrase, ...]
    failures: tuple[Failure, ...]
    phrases_taught: bool
    effects: tuple[PhraseEffect, ...]

    @classmethod
    def of(cls, answer: Classification) -> ClassifiedText:
        """The answer without the texts of its phrases."""
        return cls(
            answer.text,
            answer.label,
            answer.probabilities,
            answer.tree,
            tuple(ClassifiedPhrase(one.span, one.label, one.probabilities) for one in answer.phrases),
            answer.failures,
            answer.phrases_taught,
            tuple(PhraseEffect(one.span, one.towards, one.log_odds, one.without) for one in answer.effects),
        )


@dataclass(frozen=True)
class ClassifyResponse:
    """One answer for each input."""

    model: str
    answers: tuple[ClassifiedText, ...]


@dataclass(frozen=True)
class TranslateResponse:
    """One answer for each input, aligned if attention was asked for."""

    answers: tuple[AlignedTranslation | Translation, ...]


@dataclass(frozen=True, kw_only=True)
class AttentionResponse(PartAttention):
    """What one part of a tree attends to; numbers are ``[layers][heads][words, then nodes]``."""

    model: str
    tree: Brackets
    part: PartReference


@dataclass(frozen=True)
class ClassStyle:
    """A class, its mark and its colour."""

    name: str
    mark: str
    colour: str


@dataclass(frozen=True)
class ModelDescription:
    """A model that is loaded.

    trained_on: what its training data are, as far as its folder says; may be empty.
    encoder: the pretrained encoder that reads the words for it, None if it has none.
    """

    name: str
    title: str
    system: str
    language: str
    trained_on: str
    encoder: str | None
    classes: tuple[ClassStyle, ...]
    labels: tuple[str, ...]
    attention: bool
    hierarchical_embeddings: bool
    phrases_taught: bool


@dataclass(frozen=True)
class ModelsResponse:
    """Models, parsers and limits of the service.

    languages: for each language that has a parser, the name of the parser.
    translation, translated_language: a model that translates, and the language that it reads.
    """

    models: tuple[ModelDescription, ...]
    parsers: tuple[str, ...]
    languages: dict[str, str]
    translation: str | None
    translated_language: str | None
    limits: Limits


@dataclass(frozen=True)
class Health:
    """The service is up."""

    status: str
    version: str


class Problem(BaseModel):
    """Why a request is refused."""

    error: str = Field(description="What is wrong, where, and what is expected.")
    limit: str | None = Field(default=None, description="Name of the limit that was exceeded, if any.")
