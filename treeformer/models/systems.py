"""The systems by name: what each reads, how to build a model from sizes, how to load one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from treeformer import models
from treeformer.checksums import check_folder
from treeformer.data.tasks.task import TaskKind
from treeformer.model_folder import CONFIG, read_config
from treeformer.models.automatic import register_automatic
from treeformer.models.configuration import SystemConfig
from treeformer.models.pretrained import PreTrained
from treeformer.models.pretrained_words import PretrainedSettings, pretrained_part


@dataclass(frozen=True)
class System:
    """A family of models.

    name: what recipes call it.
    reads: ``trees``, or ``words`` for systems that read the leaves alone.
    config_class: holds its sizes.
    classifier, translator: its models, None for what it cannot do.
    defaults: sizes with another default than in the config.
    encoder: its encoder without a head, None if there is no class for it.
    marks: values in the config of a saved model that tell it from another system with the same classes.
    """

    name: str
    reads: Literal["trees", "words"]
    config_class: type[SystemConfig]
    classifier: type[PreTrained] | None
    translator: type[PreTrained] | None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    encoder: type[PreTrained] | None = None
    marks: Mapping[str, Any] = field(default_factory=dict)

    def model_class(self, kind: TaskKind) -> type[PreTrained]:
        """Its model for a kind of task, or an error that names the systems that have one."""
        model = self.models[kind]
        if model is None:
            able = ", ".join(other.name for other in SYSTEMS.values() if other.models[kind])
            raise ValueError(f"model: {self.name} has no model for {kind}, expected one of {able}")
        return model

    @property
    def models(self) -> dict[TaskKind, type[PreTrained] | None]:
        """Its models by the kind of task."""
        return {"classification": self.classifier, "translation": self.translator}


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            "tree-transformer",
            "trees",
            models.TreeTransformerConfig,
            models.TreeTransformerForSequenceClassification,
            models.TreeTransformerForConditionalGeneration,
            encoder=models.TreeTransformerModel,
        ),
        System(
            "composed-tree-transformer",
            "trees",
            models.TreeTransformerConfig,
            models.TreeTransformerForSequenceClassification,
            models.TreeTransformerForConditionalGeneration,
            {"node_inputs": "composed", "leaf_inputs": "context"},
            models.TreeTransformerModel,
            {"node_inputs": "composed"},
        ),
        System(
            "transformer",
            "words",
            models.TransformerConfig,
            models.TransformerForSequenceClassification,
            models.TransformerForConditionalGeneration,
            encoder=models.TransformerModel,
        ),
        System(
            "dynamic-conv",
            "words",
            models.DynamicConvConfig,
            models.DynamicConvForSequenceClassification,
            models.DynamicConvForConditionalGeneration,
        ),
        System(
            "conv-seq2seq",
            "words",
            models.ConvSeq2SeqConfig,
            None,
            models.ConvSeq2SeqForConditionalGeneration,
        ),
        System("bilstm", "words", models.BiLstmConfig, models.BiLstmForSequenceClassification, None),
        System("tree-lstm", "trees", models.TreeLstmConfig, models.TreeLstmForSequenceClassification, None),
        System("linear", "trees", models.LinearConfig, models.LinearForSequenceClassification, None),
        System("tree2seq", "trees", models.Tree2SeqConfig, None, models.Tree2SeqForConditionalGeneration),
    )
}

_BUILT_IN = frozenset(SYSTEMS)
_FROM_THE_CORPUS = {"vocab_size", "node_vocab_size", "num_labels", "pretrained"}


def register_system(system: System) -> None:
    """Make a new system known to recipes, `load` and the automatic classes of transformers.

    It replaces a registered one of the same name.
    """
    if system.name in _BUILT_IN:
        raise ValueError(f"name: {system.name!r} is a system that comes with treeformer, expected another")
    SYSTEMS[system.name] = system
    _register_automatic(system)


def _register_automatic(system: System) -> None:
    """Make transformers know the models of a system."""
    models = {
        AutoModel: system.encoder,
        AutoModelForSequenceClassification: system.classifier,
        AutoModelForSeq2SeqLM: system.translator,
    }
    register_automatic(system.config_class, system.reads, models)


for _system in SYSTEMS.values():
    _register_automatic(_system)


def system_named(name: str) -> System:
    """The system of this name."""
    if name not in SYSTEMS:
        raise ValueError(f"model: expected one of {', '.join(SYSTEMS)}, got {name!r}")
    return SYSTEMS[name]


def size_names(system: System) -> list[str]:
    """The sizes of a system: the fields of its config that the corpus does not fix."""
    names = {
        name
        for cls in system.config_class.__mro__
        if issubclass(cls, SystemConfig)
        for name in vars(cls).get("__annotations__", {})
    }
    chosen = names - _FROM_THE_CORPUS - {"model_type", "is_encoder_decoder", "use_cache"}
    return sorted(name for name in chosen if not name.endswith("_token_id"))


def check_size_names(system: System, sizes: Mapping[str, object]) -> None:
    """Refuse a size that the system does not have, and suggest the nearest name."""
    known = size_names(system)
    for name in sizes:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise ValueError(f"systems.{system.name}.sizes.{name}: no such key, {hint}")


def build(
    system: System,
    kind: TaskKind,
    sizes: Mapping[str, Any],
    *,
    vocab_size: int,
    node_vocab_size: int,
    classes: Sequence[str] = (),
    pretrained: PretrainedSettings | None = None,
) -> PreTrained:
    """A model with fresh weights.

    Args:
        system: the family of models.
        kind: classification or translation.
        sizes: fields of its config.
        vocab_size, node_vocab_size: numbers of tokens and of phrase labels.
        classes: names of the classes of a classifier.
        pretrained: the encoder that a classifier reads words through.
    """
    check_size_names(system, sizes)
    model_class = system.model_class(kind)
    options: dict[str, Any] = {**system.defaults, **sizes, "vocab_size": vocab_size}
    if "node_vocab_size" in {field.name for field in fields(system.config_class)}:
        options["node_vocab_size"] = node_vocab_size
    if pretrained is not None:
        if kind == "translation":
            raise ValueError("encoder: only classifiers read words through an encoder, not translators")
        options["pretrained"] = pretrained.model_dump(mode="json")
    if kind == "translation":
        return model_class(system.config_class(**options))
    if not classes:
        raise ValueError("classes: expected at least one name for a classifier, got none")
    options["id2label"] = dict(enumerate(classes))
    options["label2id"] = {name: number for number, name in enumerate(classes)}
    model = model_class(system.config_class(**options))
    if pretrained is not None and pretrained_part(model) is None:
        raise ValueError(f"encoder: the system {system.name} does not read words through an encoder")
    return model


def load(folder: str | Path) -> tuple[System, PreTrained]:
    """The model saved in a folder, and the system that it belongs to."""
    check_folder(Path(folder))
    path, config = Path(folder) / CONFIG, read_config(Path(folder))
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    fitting = [
        (system, model_class)
        for system in SYSTEMS.values()
        for model_class in system.models.values()
        if model_class is not None and model_class.__name__ == name and system.marks.items() <= config.items()
    ]
    if not fitting:
        raise ValueError(f"{path}: expected a model of treeformer, got architectures {names!r:.60}")
    system, model_class = max(fitting, key=lambda pair: len(pair[0].marks))
    return system, model_class.from_pretrained(folder)
