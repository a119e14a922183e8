"""What an experiment is: its data, its systems, how they learn and how they decode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, create_model, field_serializer, model_validator
from pydantic.fields import FieldInfo

from treeformer.configuration import Settings
from treeformer.data.recipe import DataRecipe
from treeformer.training.schedule import Schedule, learning_rate

if TYPE_CHECKING:
    from treeformer.models.systems import System

Metric = Literal["accuracy", "loss", "bleu"]


class TrainingRecipe(Settings):
    """How a model learns."""

    updates: int = Field(ge=1, description="updates at most")
    tokens: int = Field(ge=1, description="what one update reads: leaves and nodes, over all processes")
    share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="learn from this share of the examples, the same for every system",
    )
    learning_rate: float = Field(gt=0, description="its highest value")
    schedule: Schedule = Field(default="inverse-square-root", description="how it falls after the warm-up")
    warm_up: int = Field(default=0, ge=0, description="updates until the learning rate is highest")
    weight_decay: float = Field(default=0.0, ge=0, description="of the matrices of linear maps, decoupled")
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="share of a target that goes to all classes or tokens alike"
    )
    clip: float = Field(default=0.0, ge=0, description="largest norm of the gradient; 0: any")
    r_drop: float = Field(default=0.0, ge=0, description="weight of R-Drop's divergence; 0: none")
    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="share of the source's tokens that are read as unknown"
    )
    accumulation: int = Field(default=1, ge=1, description="parts in which a process works on an update")
    bf16: bool = Field(default=False, description="compute in bfloat16 where that is safe")
    evaluate_every: int = Field(default=500, ge=1, description="updates between two looks at dev")
    metric: Metric | None = Field(
        default=None, description="what makes a model the best; accuracy of classifiers, loss of translators"
    )
    patience: int | None = Field(default=None, ge=1, description="looks at dev without gain before it ends")
    save_every: int | None = Field(default=None, ge=1, description="default: as evaluate_every")
    keep: int = Field(default=2, ge=1, description="how many checkpoints stay, beside the best")
    average: int = Field(
        default=1,
        ge=1,
        description="average the last so many checkpoints at the end; kept if better on dev than the best",
    )
    prefer_average: bool = Field(
        default=False, description="keep the average anyway: the best of many looks at dev is partly luck"
    )
    log_every: int = Field(default=100, ge=1, description="updates between two lines of metrics")
    workers: int = Field(default=1, ge=0, description="threads that put batches together ahead of time")
    graphs: bool = Field(default=False, description="CUDA graphs, one for each shape of a batch")
    deterministic: bool = Field(default=False, description="the same bits in each run on a GPU; slower")
    tensorboard: bool = Field(default=False, description="metrics for TensorBoard, too")

    @property
    def saves_every(self) -> int:
        """Updates between two checkpoints."""
        return self.save_every or self.evaluate_every

    def rate(self, update: int) -> float:
        """The learning rate of an update, counted from 1."""
        return learning_rate(
            update,
            schedule=self.schedule,
            peak=self.learning_rate,
            warm_up=self.warm_up,
            updates=self.updates,
        )


def _optional(field: FieldInfo) -> tuple[Any, None]:
    """The type of a field with its bounds, and no value."""
    return (Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation), None


# The same keys, all of them optional: what a system trains differently.
TrainingChanges: type[Settings] = create_model(  # type: ignore[call-overload]
    "TrainingChanges",
    __base__=Settings,
    **{name: _optional(field) for name, field in TrainingRecipe.model_fields.items()},
)


class SystemRecipe(Settings):
    """A system in an experiment."""

    sizes: dict[str, Any] = Field(default_factory=dict, description="fields of its config")
    phrases: bool = Field(default=False, description="train on every phrase as a sequence of its own")
    training: TrainingChanges = Field(  # type: ignore[valid-type]
        default=TrainingChanges(), description="keys of `training` with other values for this system"
    )

    @field_serializer("training")
    def _changes(self, training: Settings) -> dict[str, Any]:
        return training.model_dump(exclude_unset=True)


class DecodingRecipe(Settings):
    """How a translator searches."""

    beams: int = Field(default=5, ge=1, description="translations that are kept at each step; 1: greedy")
    length_penalty: float = Field(
        default=1.0, description="scores are divided by the length to this power; larger: longer translations"
    )


class Recipe(Settings):
    """One experiment."""

    data: DataRecipe = Field(description="all that `treeformer prepare` depends on")
    model: str = Field(description="which of the systems")
    systems: dict[str, SystemRecipe] = Field(
        min_length=1, description="the systems that may be trained, by name"
    )
    training: TrainingRecipe = Field(description="how they learn")
    decoding: DecodingRecipe = Field(default=DecodingRecipe(), description="how translators search")
    vectors: str | None = Field(default=None, description="file of word vectors from which a model starts")

    @classmethod
    def give_overrides_priority(cls, content: Any, keys: Sequence[str]) -> None:
        """``--set training.KEY`` holds for all systems, also for those that train differently."""
        systems: Any = content.get("systems") if isinstance(content, dict) else None
        for name, system in systems.items() if isinstance(systems, dict) else ():
            own = f"systems.{name}.training"
            changes = system.get("training") if isinstance(system, dict) else None
            if isinstance(changes, dict) and own not in keys:
                kept = {
                    key: value
                    for key, value in changes.items()
                    if f"training.{key}" not in keys or f"{own}.{key}" in keys
                }
                systems[name] = {**system, "training": kept}

    @model_validator(mode="after")
    def _known_systems(self) -> Self:
        from treeformer.models.systems import check_size_names, system_named  # loads seconds of libraries

        for name, system in self.systems.items():
            check_size_names(system_named(name), system.sizes)
        return self

    @property
    def system(self) -> System:
        """The system that is trained."""
        from treeformer.models.systems import system_named

        return system_named(self.model)

    @property
    def system_recipe(self) -> SystemRecipe:
        """What the recipe says about that system."""
        if self.model not in self.systems:
            raise ValueError(
                f"model: expected one of the systems {', '.join(self.systems)}, got {self.model!r}"
            )
        return self.systems[self.model]

    def resolved(self) -> Recipe:
        """The same experiment with that system alone, its changes made: what a run folder keeps."""
        own = self.system_recipe
        changes = own.training.model_dump(exclude_unset=True)  # type: ignore[attr-defined]
        return self.model_copy(
            update={
                "systems": {self.model: own.model_copy(update={"training": TrainingChanges()})},
                "training": TrainingRecipe.model_validate({**self.training.model_dump(), **changes}),
            }
        )
