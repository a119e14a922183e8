"""The ``data`` part of a recipe: all that a prepared corpus depends on."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, SerializeAsAny

from treeformer.configuration import Settings
from treeformer.data.tasks.agreement import AgreementTask
from treeformer.data.tasks.imdb import ImdbTask
from treeformer.data.tasks.labelled import LabelledTask
from treeformer.data.tasks.sst import SstTask
from treeformer.data.tasks.task import Task
from treeformer.data.tasks.translation import TranslationTask
from treeformer.data.vocabulary import MULTIPLE
from treeformer.trees.tree import Unary

TreeKind = Literal["parsed", "shuffled", "balanced", "left", "right", "random"]


TASKS: dict[str, type[Task]] = {
    "sst": SstTask,
    "imdb": ImdbTask,
    "agreement": AgreementTask,
    "translation": TranslationTask,
    "labelled": LabelledTask,
}
_BUILT_IN = frozenset(TASKS)


def register_task(task: type[Task]) -> type[Task]:
    """Let recipes name a task of one's own, by its field ``name: Literal[NAME]``; also as a decorator.

    A second one of the same name takes the place of the first, but not of one that comes with the package.
    """
    field = task.model_fields.get("name")
    names = () if field is None else get_args(field.annotation)
    if len(names) != 1:
        raise ValueError(f'{task.__name__}: expected a field name: Literal["…"] with one name, got {names}')
    if names[0] in _BUILT_IN:
        raise ValueError(f"name: {names[0]!r} is a task that comes with treeformer, expected another")
    TASKS[names[0]] = task
    return task


def _task(content: Any) -> Task:
    """The task that a recipe describes."""
    if isinstance(content, Task):
        return content
    name = content.get("name") if isinstance(content, dict) else None
    if name not in TASKS:
        raise ValueError(f"expected a name out of {', '.join(TASKS)}, got {name!r}")
    return TASKS[name].model_validate(content)


class Words(Settings):
    """Whole words; those that are seen less often are ``<unk>``, which they train."""

    kind: Literal["words"]
    min_count: int = Field(default=2, ge=1, description="a word that train has less often is unknown")
    lower: bool = Field(default=False, description="read words in lower case")


class Subwords(Settings):
    """Byte-pair encoding, learnt from the words of source and target together."""

    kind: Literal["bpe"]
    size: int = Field(ge=MULTIPLE, multiple_of=MULTIPLE, description="number of tokens")


class DataRecipe(Settings):
    """Which corpus, how it is cut into tokens, and which trees stand over them."""

    task: Annotated[SerializeAsAny[Task], BeforeValidator(_task)] = Field(
        description="what the files hold; its `name` decides which keys there are"
    )
    vocabulary: Annotated[Words | Subwords, Field(discriminator="kind")] = Field(
        description="how words become tokens; its `kind` decides which keys there are"
    )
    trees: TreeKind = Field(
        default="parsed",
        description="else control trees over the same words; shuffled: parsed, its labels in other places",
    )
    unary: Unary = Field(default="collapse", description="chains of nodes over one span")
    parser: str = Field(
        default="embedded",
        description="embedded, corenlp, a folder or a registered name; for text without ready trees",
    )
    longest: int | None = Field(
        default=None, ge=1, description="examples of train with more leaves or target tokens are left out"
    )
    drop: bool = Field(default=False, description="leave out bad lines and count them; else an error")
