"""The parts ``data`` and ``encoder`` of a recipe: everything that a prepared corpus depends on."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, SerializeAsAny, field_validator, model_validator

from treeformer.configuration import Settings
from treeformer.data.tasks.agreement import AgreementTask
from treeformer.data.tasks.function_names import FunctionNamesTask
from treeformer.data.tasks.imdb import ImdbTask
from treeformer.data.tasks.labelled import LabelledTask
from treeformer.data.tasks.listops import ListOpsTask
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
    "listops": ListOpsTask,
    "function-names": FunctionNamesTask,
}
_BUILT_IN = frozenset(TASKS)


def register_task(task: type[Task]) -> type[Task]:
    """Register a task under the name in its field ``name: Literal[NAME]``; also a decorator.

    A second task of that name replaces the first; tasks of the package cannot be replaced.
    """
    field = task.model_fields.get("name")
    names = () if field is None else get_args(field.annotation)
    if len(names) != 1:
        raise ValueError(f'{task.__name__}: expected a field name: Literal["…"] with one name, got {names}')
    if names[0] in _BUILT_IN:
        raise ValueError(f"name: {names[0]!r} is a task of treeformer, expected another name")
    TASKS[names[0]] = task
    return task


def _task(content: Any) -> Task:
    """The task of a recipe."""
    if isinstance(content, Task):
        return content
    name = content.get("name") if isinstance(content, dict) else None
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(f"expected a name out of {', '.join(TASKS)}, got {name!r:.60}")
    return TASKS[name].model_validate(content)


class Words(Settings):
    """Whole words; rare words are read as ``<unk>``, and train it."""

    kind: Literal["words"]
    min_count: int = Field(default=2, ge=1, description="words with a lower count in train are unknown")
    lower: bool = Field(default=False, description="read words in lower case")


class Subwords(Settings):
    """Byte-pair encoding, learnt from the words of source and target together."""

    kind: Literal["bpe"]
    size: int = Field(ge=MULTIPLE, le=2**20, multiple_of=MULTIPLE, description="number of tokens")


class DataRecipe(Settings):
    """A corpus, its tokens, and the trees over them."""

    task: Annotated[SerializeAsAny[Task], BeforeValidator(_task)] = Field(
        description="format of the files; its `name` decides the keys"
    )
    vocabulary: Annotated[Words | Subwords, Field(discriminator="kind")] = Field(
        description="how words become tokens; its `kind` decides the keys"
    )
    trees: TreeKind = Field(
        default="parsed",
        description="parsed, or control trees over the same words; shuffled: parses with permuted labels",
    )
    unary: Unary = Field(default="collapse", description="chains of nodes over one span")
    parser: str = Field(
        default="embedded",
        description="embedded, corenlp, code:python, a folder or a registered name; for text without trees",
    )
    longest: int | None = Field(
        default=None, ge=1, description="skip examples of train with more leaves or target tokens"
    )
    drop: bool = Field(default=False, description="skip bad lines and count them, instead of an error")


class EncoderRecipe(Settings):
    """A pretrained encoder that gives vectors of whole words. A string stands for its ``source``."""

    source: str = Field(description="name of an installed encoder, or a folder that transformers can read")
    train: Literal["frozen", "all"] = Field(
        default="frozen", description="frozen: `prepare` stores the states of words once; all: fine-tuning"
    )
    learning_rate: float = Field(
        default=5e-5,
        gt=0,
        le=1,
        description="highest learning rate of the encoder's weights with `train: all`",
    )
    layers: tuple[int, ...] | None = Field(
        default=None,
        min_length=1,
        description="layers whose states are mixed, 0 stands for the embeddings; default: the upper half, "
        "every second one if there are 8 or more",
    )

    @model_validator(mode="before")
    @classmethod
    def _source_alone(cls, content: Any) -> Any:
        return {"source": content} if isinstance(content, str) else content

    @field_validator("layers")
    @classmethod
    def _increase(cls, layers: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if layers is not None and (sorted({*layers}) != [*layers] or layers[0] < 0):
            raise ValueError(f"expected increasing numbers from 0, got {list(layers)}")
        return layers
