"""Typed settings, read from YAML files with errors that name the wrong key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError


class Settings(BaseModel):
    """Base class of recipes and their parts: immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a YAML file; ``ValueError`` names the file, the key and what is expected.

        Args:
            path: the file.
            overrides: each ``key=value``, as in ``training.updates=100``. The value is YAML. It replaces the
                value in the file, or adds a key that the file does not have.
        """
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
        for override in overrides:
            _apply(override, content)
        cls.give_overrides_priority(content, [override.partition("=")[0] for override in overrides])
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            problems = "; ".join(_describe(problem["loc"], problem["msg"], cls) for problem in error.errors())
            raise ValueError(f"{path}: {problems}") from error

    @classmethod
    def give_overrides_priority(cls, content: Any, keys: Sequence[str]) -> None:
        """Remove from ``content`` what would hide the overrides of ``keys``; by default nothing."""


def nested_settings(annotation: Any) -> Iterator[type[BaseModel]]:
    """Classes of settings in a type annotation, with subclasses, also in unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for subclass in annotation.__subclasses__():
            yield from nested_settings(subclass)
    for argument in get_args(annotation):
        yield from nested_settings(argument)


def _apply(override: str, content: Any) -> None:
    """Set one key of ``content``."""
    key, equals, text = override.partition("=")
    *parts, last = key.split(".")
    if not equals or not all([*parts, last]):
        raise ValueError(f"--set {override}: expected key=value, as in training.updates=100")
    for part in parts:
        if not isinstance(content, dict):
            break
        content[part] = copy(content.get(part, {}))  # a YAML alias shares one dictionary between two keys
        content = content[part]
    if not isinstance(content, dict):
        raise ValueError(f"--set {override}: {key.rpartition('.')[0] or 'the recipe'} has no keys")
    try:
        content[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"--set {override}: not YAML: {' '.join(str(error).split())}") from error


def _describe(location: tuple[int | str, ...], message: str, kind: type[Settings]) -> str:
    """One error of pydantic as ``key: message``, with the nearest key where one is unknown."""
    key = ".".join(map(str, location)) or "the recipe"
    if message.startswith("Value error, "):  # of a validator; that of a whole recipe names the key itself
        message = message.removeprefix("Value error, ")
        return f"{key}: {message}" if location else message
    if not message.startswith("Extra inputs"):
        return f"{key}: {message[:1].lower()}{message[1:]}"
    near = difflib.get_close_matches(str(location[-1]), _keys_at(location[:-1], kind), n=1)
    return f"{key}: no such key" + (f", did you mean {near[0]}?" if near else "")


def _keys_at(location: tuple[int | str, ...], kind: type[BaseModel]) -> set[str]:
    """Keys that are allowed at a place of a recipe."""
    kinds = [kind]
    for step in location:  # a step that is not a field is a key of a mapping or the tag of a union
        fields = [one.model_fields[step] for one in kinds if step in one.model_fields]
        if fields:
            kinds = [nested for field in fields for nested in nested_settings(field.annotation)]
    return {name for one in kinds for name in one.model_fields}
