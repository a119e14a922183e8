"""Typed settings, read from YAML files with errors that name the wrong key."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from treeformer.recipe_files import recipe_path

_SHOWN = 10  # problems of a file that its error lists


class Settings(BaseModel):
    """Base class of recipes and their parts: immutable; unknown keys and infinite numbers are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    #: Keys of a file whose value may be a string, and the key in them that it stands for.
    short_forms: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a YAML file; ``ValueError`` names the file, the key and what is expected.

        Args:
            path: the file, or the name of a recipe of the package.
            overrides: each ``key=value``, as in ``training.updates=100``. The value is YAML. It replaces the
                value in the file, or adds a key that the file does not have.
        """
        path = recipe_path(path)
        content = _read_yaml(path.read_bytes(), str(path))
        for override in overrides:
            _apply(override, content, cls.short_forms)
        content = cls.with_variant(content)
        for override in overrides:
            _apply(override, content, cls.short_forms)
        cls.give_overrides_priority(content, [override.partition("=")[0] for override in overrides])
        return cls.from_content(content, str(path))

    @classmethod
    def load_json(cls, path: Path) -> Self:
        """Read a JSON file; ``ValueError`` names the file, the key and what is expected."""
        return cls.from_content(read_json(path), str(path))

    @classmethod
    def from_content(cls, content: Any, source: str) -> Self:
        """The settings in the content of a file; ``ValueError`` names the source and the key."""
        key = _infinite(content)
        if key is not None:
            raise ValueError(f"{source}: {printable(key)}: expected a finite number")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            problems = [_describe(problem["loc"], problem["msg"], cls) for problem in error.errors()]
            raise ValueError(f"{source}: {printable(_joined(problems))}") from error

    @classmethod
    def with_variant(cls, content: Any) -> Any:
        """The content of a file with the values of the variant that it asks for; by default as it is."""
        return content

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


def printable(text: str) -> str:
    """The text with escapes for line breaks and other invisible characters, for messages of one line.

    >>> print(printable("a\\nb\\t猫"))
    a\\nb\\t猫
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def first_problem(error: ValidationError) -> str:
    """The first of pydantic's problems as ``key: message``, in one line."""
    problem = error.errors()[0]
    key = ".".join(map(str, problem["loc"]))
    return printable(f"{key}: {problem['msg']}" if key else problem["msg"])


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; ``ValueError`` names the file if it holds anything else."""
    try:
        content = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(f"{path}: expected a JSON object, found one nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"{path}: expected a JSON object: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


class _YamlLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Names line and column of values that look like a date or a number and are none."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            raise yaml.constructor.ConstructorError(
                None, None, f"{error}; quote the value if it is text", node.start_mark
            ) from error


def _read_yaml(text: str | bytes, source: str) -> Any:
    """The value of a YAML document; ``source`` is its name in errors."""
    try:
        return yaml.load(text, _YamlLoader)
    except RecursionError as error:
        raise ValueError(f"{source}: not YAML: nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{source}: not YAML: {' '.join(str(error).split())}") from error


def _infinite(content: Any) -> str | None:
    """The key of a number that is infinite or NaN, None if there is none."""
    waiting: list[tuple[str, Any]] = [("", content)]
    visited: set[int] = set()
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return key
        if isinstance(value, (dict, list)) and id(value) not in visited:  # YAML aliases may form a cycle
            visited.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{key}.{name}" if key else str(name), item) for name, item in items]
    return None


def _apply(override: str, content: Any, short_forms: Mapping[str, str]) -> None:
    """Set one key of ``content``; a string that stands for several keys is written out first."""
    key, equals, text = override.partition("=")
    *parts, last = key.split(".")
    source = f"--set {printable(override)}"
    if not equals or not all([*parts, last]):
        raise ValueError(f"{source}: expected key=value, as in training.updates=100")
    for part in parts:
        if not isinstance(content, dict):
            break
        value = content.get(part, {})
        if isinstance(value, str) and part in short_forms:
            value = {short_forms[part]: value}
        content[part] = copy(value)  # a YAML alias shares one dictionary between two keys
        content = content[part]
    if not isinstance(content, dict):
        raise ValueError(f"{source}: {printable(key.rpartition('.')[0]) or 'the recipe'} has no keys")
    content[last] = _read_yaml(text, source)


def _joined(problems: Sequence[str]) -> str:
    """The first problems of a file, and the number of all if there are many."""
    more = f"; {len(problems)} problems in all" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


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
