"""The recipe of an experiment: data, systems, training and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, create_model, field_serializer, model_validator
from pydantic.fields import FieldInfo

from treeformer.configuration import Settings
from treeformer.data.recipe import DataRecipe, EncoderRecipe

if TYPE_CHECKING:
    from treeformer.models.systems import System

Metric = Literal["accuracy", "loss", "bleu"]
EVALUATE_EVERY = 500  #: updates between two evaluations, for a run without ``epochs``
LARGEST = 1e20  #: number of a recipe: what is computed from larger ones does not fit into float32
Targets = Literal["all", "text"]
Schedule = Literal["inverse-square-root", "cosine", "constant"]


class TrainingRecipe(Settings):
    """How a model is trained."""

    updates: int | None = Field(default=None, ge=1, description="largest number of updates")
    epochs: int | None = Field(
        default=None,
        ge=1,
        description="largest number of passes over the examples; this or `updates` is needed",
    )
    tokens: int = Field(ge=1, description="leaves and nodes in one update, over all processes")
    share: float | None = Field(
        default=None, gt=0, le=1, description="share of the examples to train on, the same for every system"
    )
    learning_rate: float = Field(gt=0, le=LARGEST, description="highest learning rate")
    schedule: Schedule = Field(
        default="inverse-square-root", description="how the learning rate falls after the warm-up"
    )
    warm_up: Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0, description="updates until the learning rate is highest, or their share of all, below 1"
    )
    weight_decay: float = Field(
        default=0.0, ge=0, le=LARGEST, description="decoupled decay of weights of linear layers"
    )
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="share of a target that is spread over all classes or tokens"
    )
    clip: float = Field(
        default=0.0, ge=0, le=LARGEST, description="largest norm of the gradient; 0: no clipping"
    )
    r_drop: float = Field(
        default=0.0, ge=0, le=LARGEST, description="weight of R-Drop's divergence; 0: no R-Drop"
    )
    word_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="share of source tokens that are replaced by the unknown token"
    )
    accumulation: int = Field(
        default=1, ge=1, description="shards in which a process computes its share of an update"
    )
    bf16: bool = Field(default=False, description="compute in bfloat16 where that is safe")
    evaluate_every: int | None = Field(
        default=None,
        ge=1,
        description=f"updates between evaluations on dev; default: {EVALUATE_EVERY}, with `epochs` an epoch",
    )
    targets: Targets = Field(
        default="all",
        description="labels that tree systems learn from: of all words and phrases, or of the text alone",
    )
    metric: Metric | None = Field(
        default=None, description="dev score that chooses the best model; default: accuracy, or loss"
    )
    patience: int | None = Field(
        default=None, ge=1, description="number of evaluations without gain before training stops"
    )
    save_every: int | None = Field(
        default=None, ge=1, description="updates between two checkpoints; default: evaluate_every"
    )
    keep: int = Field(default=2, ge=1, description="number of checkpoints to keep, besides the best")
    average: int = Field(
        default=1, ge=1, description="last checkpoints to average; the mean is used if it is the best on dev"
    )
    prefer_average: bool = Field(
        default=False, description="use the mean in any case: the best of many evaluations is partly luck"
    )
    log_every: int = Field(default=100, ge=1, description="updates between two lines of metrics")
    workers: int = Field(default=1, ge=0, description="threads that build batches ahead of time")
    graphs: bool = Field(default=False, description="use CUDA graphs, one for each shape of a batch")
    deterministic: bool = Field(default=False, description="repeat runs bit for bit on a GPU; slower")
    tensorboard: bool = Field(default=False, description="write metrics for TensorBoard, too")

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.updates is None and self.epochs is None:
            raise ValueError("expected updates or epochs, got neither")
        return self


def _optional(field: FieldInfo) -> tuple[Any, None]:
    """Type of a field with its bounds, and None as its default."""
    return (Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation), None


# All keys of `TrainingRecipe`, each of them optional: what one system trains differently.
TrainingChanges: type[Settings] = create_model(  # type: ignore[call-overload]
    "TrainingChanges",
    __base__=Settings,
    **{name: _optional(field) for name, field in TrainingRecipe.model_fields.items()},
)


class SystemRecipe(Settings):
    """One system of an experiment."""

    sizes: dict[str, Any] = Field(default_factory=dict, description="fields of the system's config")
    phrases: bool = Field(default=False, description="train on every phrase as a separate sequence")
    training: TrainingChanges = Field(  # type: ignore[valid-type]
        default=TrainingChanges(), description="keys of `training` with other values for this system"
    )

    @field_serializer("training")
    def _changes(self, training: Settings) -> dict[str, Any]:
        return training.model_dump(exclude_unset=True)


_Replaced = Literal["model", "systems", "training"]


class DecodingRecipe(Settings):
    """How a translator searches."""

    beams: int = Field(default=5, ge=1, description="hypotheses kept at each step; 1: greedy search")
    length_penalty: float = Field(
        default=1.0,
        ge=-100,
        le=100,
        description="scores are divided by the length to this power; larger: longer translations",
    )


class WithEncoder(Settings):
    """Other values of `model`, `systems` and `training`, which replace these keys as a whole."""

    frozen: dict[_Replaced, Any] = Field(default_factory=dict, description="over a frozen encoder")
    all: dict[_Replaced, Any] = Field(default_factory=dict, description="over an encoder that is trained")


class Recipe(Settings):
    """One experiment: data, systems, and how they are trained. `load` reads it from a YAML file."""

    short_forms = MappingProxyType({"encoder": "source"})

    data: DataRecipe = Field(description="all settings of `treeformer prepare`")
    model: str = Field(description="name of the system to train")
    systems: dict[str, SystemRecipe] = Field(min_length=1, description="systems that can be trained, by name")
    training: TrainingRecipe = Field(description="how they are trained")
    decoding: DecodingRecipe = Field(default=DecodingRecipe(), description="how translators search")
    encoder: EncoderRecipe | None = Field(
        default=None,
        description="a pretrained encoder instead of embeddings of words: settings, or a name or folder",
    )
    vectors: str | None = Field(default=None, description="file of word vectors that initialise embeddings")

    with_encoder: WithEncoder = Field(
        default=WithEncoder(), description="other values of some keys for runs with `encoder`"
    )

    @classmethod
    def with_variant(cls, content: Any) -> Any:
        """The content with the values of `with_encoder` in their places, if there is an encoder."""
        if not isinstance(content, dict) or not content.get("encoder"):
            return content
        encoder = content["encoder"]
        train = encoder.get("train", "frozen") if isinstance(encoder, dict) else "frozen"
        variants = WithEncoder.from_content(content.get("with_encoder", {}), "with_encoder")
        changes = {"frozen": variants.frozen, "all": variants.all}.get(train, {})
        return {**content, **changes}

    _overrides: tuple[str, ...] = PrivateAttr(default=())

    @property
    def overrides(self) -> tuple[str, ...]:
        """The changes to the YAML file that `load` was given."""
        return self._overrides

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        recipe = super().load(path, overrides)
        recipe._overrides = tuple(overrides)
        return recipe

    @classmethod
    def give_overrides_priority(cls, content: Any, keys: Sequence[str]) -> None:
        """Let an override of ``training.KEY`` hold also for systems that train differently."""
        systems: Any = content.get("systems") if isinstance(content, dict) else None
        for name, system in systems.items() if isinstance(systems, dict) else ():
            prefix = f"systems.{name}.training"
            changes = system.get("training") if isinstance(system, dict) else None
            if isinstance(changes, dict) and prefix not in keys:
                kept = {
                    key: value
                    for key, value in changes.items()
                    if f"training.{key}" not in keys or f"{prefix}.{key}" in keys
                }
                systems[name] = {**system, "training": kept}

    @model_validator(mode="after")
    def _check_systems(self) -> Self:
        from treeformer.models.systems import check_size_names, system_named  # takes seconds to import

        for name, system in self.systems.items():
            check_size_names(system_named(name), system.sizes)
        return self

    @property
    def system(self) -> System:
        """The system to train."""
        from treeformer.models.systems import system_named

        return system_named(self.model)

    @property
    def system_recipe(self) -> SystemRecipe:
        """Settings of the system to train."""
        if self.model not in self.systems:
            raise ValueError(
                f"model: expected one of the systems {', '.join(self.systems)}, got {self.model!r}"
            )
        return self.systems[self.model]

    def resolved(self) -> Recipe:
        """The recipe of the chosen system alone, with its training settings: what a run folder keeps."""
        chosen = self.system_recipe
        changes = chosen.training.model_dump(exclude_unset=True)  # type: ignore[attr-defined]
        training = TrainingRecipe.model_validate({**self.training.model_dump(), **changes})
        if training.evaluate_every is None and training.epochs is None:
            training = training.model_copy(update={"evaluate_every": EVALUATE_EVERY})
        return self.model_copy(
            update={
                "with_encoder": WithEncoder(),
                "systems": {self.model: chosen.model_copy(update={"training": TrainingChanges()})},
                "training": training,
            }
        )
