"""What a request may ask, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Shape = Literal["parsed", "balanced", "left", "right", "random"]
PartKind = Literal["word", "node"]

Inputs = Annotated[list[str], Field(min_length=1, description="Texts, or trees in brackets.")]
Trees = Annotated[bool, Field(description="The inputs are trees in brackets.")]
Exact = Annotated[
    bool, Field(description="Trees are read as they are, not made binary as those of training.")
]
ModelName = Annotated[str, Field(description="One of those that /v1/models names.", max_length=100)]
ParserName = Annotated[
    str, Field(description="For texts: one of those that /v1/models names.", max_length=100)
]


class Question(BaseModel):
    """What all requests share: keys that do not exist are refused, and nothing is guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ParseQuestion(Question):
    """Texts to be parsed."""

    inputs: Inputs
    parser: ParserName = "embedded"


class ClassifyQuestion(Question):
    """Texts or trees to be classified."""

    inputs: Inputs
    trees: Trees = False
    exact: Exact = False
    shape: Annotated[Shape, Field(description="A control tree over the same words instead.")] = "parsed"
    seed: Annotated[int, Field(ge=0, lt=2**31, description="Of random trees.")] = 1
    model: ModelName = "main"
    parser: ParserName = "embedded"


class TranslateQuestion(Question):
    """Texts or trees to be translated."""

    inputs: Inputs
    trees: Trees = False
    attention: Annotated[bool, Field(description="Tell where the model looked for each word.")] = False


class Part(Question):
    """A word of a tree, or a node in post-order."""

    kind: PartKind
    index: Annotated[int, Field(ge=0, lt=2**31)]


class AttentionQuestion(Question):
    """One text or tree, and the part of it whose attention is asked for."""

    input: Annotated[str, Field(description="A text, or a tree in brackets.")]
    trees: Trees = False
    exact: Exact = False
    part: Annotated[Part | None, Field(description="Default: the root.")] = None
    hierarchical_embeddings: Annotated[
        bool, Field(description="False leaves the hierarchical embeddings of the model out.")
    ] = True
    model: ModelName = "main"
