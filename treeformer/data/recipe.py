"""The ``data`` part of a recipe: all that a prepared corpus depends on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from treeformer.configuration import Recipe
from treeformer.data.tasks.agreement import AgreementTask
from treeformer.data.tasks.imdb import ImdbTask
from treeformer.data.tasks.labelled import LabelledTask
from treeformer.data.tasks.sst import SstTask
from treeformer.data.tasks.translation import TranslationTask
from treeformer.data.vocabulary import MULTIPLE
from treeformer.trees.tree import Unary

TreeKind = Literal["parsed", "balanced", "left", "right", "random"]


class Words(Recipe):
    """Whole words; those that are seen less often are ``<unk>``, which they train."""

    kind: Literal["words"]
    min_count: int = Field(default=2, ge=1)
    lower: bool = Field(default=False, description="read words in lower case")


class Subwords(Recipe):
    """Byte-pair encoding, learnt from the words of source and target together."""

    kind: Literal["bpe"]
    size: int = Field(ge=MULTIPLE, multiple_of=MULTIPLE, description="number of tokens")


class DataRecipe(Recipe):
    """Which corpus, how it is cut into tokens, and which trees stand over them."""

    task: Annotated[
        SstTask | ImdbTask | AgreementTask | TranslationTask | LabelledTask, Field(discriminator="name")
    ]
    vocabulary: Annotated[Words | Subwords, Field(discriminator="kind")]
    trees: TreeKind = Field(default="parsed", description="else control trees over the same words")
    unary: Unary = Field(default="collapse", description="chains of nodes over one span")
    parser: str = Field(
        default="embedded", description="embedded, corenlp or a folder; for text without ready trees"
    )
    longest: int | None = Field(
        default=None, ge=1, description="examples of train with more leaves or target tokens are left out"
    )
    drop: bool = Field(default=False, description="leave out bad lines and count them; else an error")
