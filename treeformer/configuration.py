"""Recipes: YAML files that are read into typed objects, with errors that say which key is wrong and why."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError


class Recipe(BaseModel):
    """A part of a recipe: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


R = TypeVar("R", bound=Recipe)


def read_recipe(path: str | Path, kind: type[R]) -> R:
    """The recipe in a YAML file; ``ValueError`` names the file, the key and what would be right."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(_problem(found["loc"], found["msg"], kind) for found in error.errors())
        raise ValueError(f"{path}: {problems}") from error


def _problem(location: tuple[int | str, ...], message: str, kind: type[Recipe]) -> str:
    key = ".".join(map(str, location)) or "the recipe"
    if not message.startswith("Extra inputs"):
        return f"{key}: {message[:1].lower()}{message[1:]}"
    near = difflib.get_close_matches(str(location[-1]), _keys(kind), n=1)
    return f"{key}: no such key" + (f", did you mean {near[0]}?" if near else "")


def _keys(kind: type[BaseModel]) -> set[str]:
    """All keys of a recipe and of its parts."""
    keys = set(kind.model_fields)
    for field in kind.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            keys |= _keys(field.annotation)
    return keys
