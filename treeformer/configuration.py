"""Recipes: YAML files that are read into typed objects, with errors that say which key is wrong and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError


class Recipe(BaseModel):
    """A part of a recipe: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def settle(cls, content: Any, keys: Sequence[str]) -> None:
        """Change ``content``, which overrides of these keys have changed, so that they are what counts."""


R = TypeVar("R", bound=Recipe)


def read_recipe(path: str | Path, kind: type[R], overrides: Sequence[str] = ()) -> R:
    """The recipe in a YAML file; ``ValueError`` names the file, the key and what would be right.

    Each of the ``overrides`` is ``key=value``, as in ``training.updates=100``: the value, in YAML, takes the
    place of what the file says or is added to it.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    for override in overrides:
        _set(content, override)
    kind.settle(content, [override.partition("=")[0] for override in overrides])
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(_problem(found["loc"], found["msg"], kind) for found in error.errors())
        raise ValueError(f"{path}: {problems}") from error


def _set(content: Any, override: str) -> None:
    """Change ``content`` as an override says."""
    key, equals, text = override.partition("=")
    *parts, last = key.split(".")
    if not equals or not all([*parts, last]):
        raise ValueError(f"--set {override}: expected key=value, as in training.updates=100")
    for part in parts:
        if not isinstance(content, dict):
            break
        content[part] = copy(content.get(part, {}))  # what YAML's aliases share is changed in one place only
        content = content[part]
    if not isinstance(content, dict):
        raise ValueError(f"--set {override}: {key.rpartition('.')[0] or 'the recipe'} has no keys")
    try:
        content[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"--set {override}: not YAML: {' '.join(str(error).split())}") from error


def _problem(location: tuple[int | str, ...], message: str, kind: type[Recipe]) -> str:
    key = ".".join(map(str, location)) or "the recipe"
    own = message.removeprefix("Value error, ")
    if own != message:  # a validator of ours; one of the whole recipe names the key itself
        return f"{key}: {own}" if location else own
    if not message.startswith("Extra inputs"):
        return f"{key}: {message[:1].lower()}{message[1:]}"
    near = difflib.get_close_matches(str(location[-1]), _keys(kind, location[:-1]), n=1)
    return f"{key}: no such key" + (f", did you mean {near[0]}?" if near else "")


def _keys(kind: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """The keys that may stand at a place of a recipe."""
    kinds = [kind]
    for step in location:  # one that is no field is a key of a mapping, or the kind that a union has here
        fields = [one.model_fields[step] for one in kinds if step in one.model_fields]
        kinds = [part for field in fields for part in _parts(field.annotation)] if fields else kinds
    return {name for one in kinds for name in one.model_fields}


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """The recipes that a type names: itself and its kinds, or in a union, list or mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for kind in annotation.__subclasses__():
            yield from _parts(kind)
    for inner in get_args(annotation):
        yield from _parts(inner)
