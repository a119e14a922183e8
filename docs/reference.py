"""Write the pages that list every command and every recipe key, from the program itself.

python docs/reference.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

FOLDER = Path(__file__).parent / "reference"
_MADE = "<!-- Made by docs/reference.py; make docs-pages writes it again. -->"
_BOUNDS = {
    "ge": "≥",
    "gt": ">",
    "le": "≤",
    "lt": "<",
    "multiple_of": "a multiple of",
    "min_length": "at least",
}


def commands_page() -> str:
    """Every command with its arguments and options."""
    from treeformer.cli.main import app

    root = typer.main.get_command(app)
    parts = [
        _MADE,
        "# Every command",
        "`treeformer COMMAND --help` prints the same. Standard input and output work wherever text does; "
        "what is wrong ends with one line on standard error and status 1.",
        "Before the command:",
        _parameters(root),
    ]
    parts += [part for name, command in _commands(root) for part in _command(name, command)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _commands(group: Any, before: str = "treeformer") -> Iterator[tuple[str, Any]]:
    for name in sorted(group.commands):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def _command(name: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_argument(a) for a in arguments), "[OPTIONS]"])
    text = re.sub(
        r"^(treeformer|torchrun) (.*)$", r"    \1 \2", (command.help or "").strip(), flags=re.MULTILINE
    )
    return [f"## {name}", f"    {usage}", text, _parameters(command)]


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()).strip("[].")
    shown = name if argument.required else f"[{name}]"
    return f"{shown}..." if argument.nargs == -1 else shown


def _parameters(command: Any) -> str:
    kinds = get_type_hints(command.callback)
    rows = []
    for parameter in command.params:
        kind = "" if getattr(parameter, "is_flag", False) else _name(kinds.get(parameter.name))
        if kind.startswith("a list of "):
            kind = f"{kind.removeprefix('a list of ')}, several times"
        if parameter.param_type_name == "argument":
            name = f"`{_argument(parameter)}`"
        else:
            name = ", ".join(f"`{flag}`" for flag in [*parameter.opts, *parameter.secondary_opts])
        rows.append((name, kind, _usual(parameter), parameter.help or ""))
    return _table(("", "value", "default", ""), rows)


def _usual(parameter: Any) -> str:
    """What a parameter is unless one says otherwise."""
    value = getattr(parameter.default, "value", parameter.default)
    if parameter.required:
        return "required"
    return "" if value in (None, (), False) or value == [] else f"`{value}`"


def recipes_page() -> str:
    """Every key of every recipe."""
    from treeformer.data.recipe import TASKS, DataRecipe, Subwords, Words
    from treeformer.models.systems import SYSTEMS, size_names
    from treeformer.training.parser_training import LearningRecipe, NetworkRecipe, ParserRecipe, TreeFile
    from treeformer.training.recipe import DecodingRecipe, Recipe, SystemRecipe, TrainingRecipe

    parts = [
        _MADE,
        "# Every recipe key",
        "A recipe is a YAML file; [training](../training.md) shows one. A key that does not exist is "
        "refused, with the nearest one that does. `--set KEY=VALUE` gives a key another value, as in "
        "`--set training.updates=100`.",
        "## The experiment",
        *_keys(Recipe),
        "## `data`",
        *_keys(DataRecipe),
    ]
    own = [(name, task) for name, task in TASKS.items() if task.__module__.startswith("treeformer.")]
    for name, task in own:
        parts += [f"### `data.task` with `name: {name}`", *_keys(task)]
        part = next(_models(task.model_fields["splits"].annotation))
        parts += ["Each of its `splits`:", *_keys(part)[1:]]
    parts += ["### `data.vocabulary` with `kind: words`", *_keys(Words)]
    parts += ["### `data.vocabulary` with `kind: bpe`", *_keys(Subwords)]
    parts += ["## `systems.NAME`", *_keys(SystemRecipe), "The sizes of each system, with their defaults:"]
    rows = []
    for name, system in SYSTEMS.items():
        if system.config_class.__module__.startswith("treeformer."):
            config = system.config_class()
            sizes = ", ".join(f"`{size}: {_yaml(getattr(config, size))}`" for size in size_names(system))
            rows.append((f"`{name}`", sizes))
    parts += [_table(("system", "sizes"), rows), "[Systems](../systems.md) and the "]
    parts[-1] += "[configs of the models](api/models.md) say what they mean."
    parts += ["## `training`", *_keys(TrainingRecipe), "## `decoding`", *_keys(DecodingRecipe)]
    parts += ["## Recipes of parsers", "For `treeformer parser train`.", *_keys(ParserRecipe)]
    for title, kind in (("trees", TreeFile), ("network", NetworkRecipe), ("learning", LearningRecipe)):
        parts += [f"### `{title}`" + (", each of them" if title == "trees" else ""), *_keys(kind)]
    return "\n\n".join(parts) + "\n"


def _keys(kind: type[BaseModel]) -> list[str]:
    """What a part of a recipe is, and a table of its keys."""
    story = " ".join((kind.__doc__ or "").split())
    rows = [
        (f"`{name}`", _type(field), _default(field), field.description or "")
        for name, field in kind.model_fields.items()
    ]
    return [story.replace("``", "`"), _table(("key", "value", "default", ""), rows)]


def _type(field: FieldInfo) -> str:
    bounds = [
        f"{sign} {getattr(bound, name)}"
        for bound in field.metadata
        for name, sign in _BOUNDS.items()
        if getattr(bound, name, None) is not None
    ]
    return ", ".join([_name(field.annotation), *bounds])


def _name(annotation: Any) -> str:
    """A type in words."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if get_origin(annotation) is Annotated:
        return _name(arguments[0])
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(dict.fromkeys(_name(one) for one in arguments if one is not NoneType))
    if get_origin(annotation) is list:
        return f"a list of {_name(arguments[0])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{one.value}`" for one in annotation)
    simple = {str: "text", int: "number", float: "number", bool: "`true`, `false`", Path: "path"}
    return simple.get(annotation, "keys")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value in (None, {}, PydanticUndefined) or isinstance(value, BaseModel):
        return ""
    return f"`{_yaml(value)}`"


def _yaml(value: object) -> str:
    words = {"True": "true", "False": "false", "None": "null"}
    return words.get(str(value), str(value))


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(
        "| " + " | ".join((cell or "").replace("|", "\\|") for cell in line) + " |" for line in lines
    )


PAGES = {"commands.md": commands_page, "recipes.md": recipes_page}

if __name__ == "__main__":
    for file, make in PAGES.items():
        (FOLDER / file).write_text(make(), encoding="utf-8")
        print(FOLDER / file)
