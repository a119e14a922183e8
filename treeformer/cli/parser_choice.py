"""Which parser a command line asks for, with the options that go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from treeformer.parsing import Parser
from treeformer.parsing.command import CommandParser
from treeformer.parsing.loading import parser_maker, parser_name

_OPTIONS = {
    "embedded": {"device", "bf16"},
    "corenlp": {"model", "caseless", "unsplit", "memory", "threads", "port", "address", "timeout"},
    "command": {"timeout"},
}
_TREES_DEPEND_ON = ("model", "caseless", "unsplit", "bf16")


def choose_parser(
    parser: str, command: str | None, language: str | None, options: Mapping[str, Any]
) -> tuple[str, Callable[[], Parser]]:
    """What to call the parser, with all that its trees depend on, and what makes it.

    Args:
        parser: ``embedded``, ``corenlp``, a folder, or any other name that `load_parser` takes.
        command: a program instead.
        language: of the text; None where the parser has its own, else English.
        options: of the parser by name, ``None`` where none was given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if language is not None and parser not in ("embedded", "corenlp"):
        raise ValueError(f"--language does not go with --parser {parser}, which has a language of its own")
    language = language or "en"
    if command is not None:
        if parser != "embedded":
            raise ValueError(f"--parser {parser} and --parser-command: expected one of them")
        _check(given, "command", "--parser-command")
        return f"{language}, command {command}", partial(CommandParser, command, language, **given)
    if parser.partition(":")[0] == "corenlp":
        _check(given, "corenlp", f"--parser {parser}")
    else:
        _check(given, "embedded", f"--parser {parser}")
    name = parser_name(parser, language)
    details = [f"{key} {given[key]}" for key in _TREES_DEPEND_ON if key in given]
    return ", ".join([name, *details]), parser_maker(name, **given)


def _check(given: Mapping[str, object], kind: str, chosen: str) -> None:
    """Refuse options that the chosen kind of parser has not."""
    for name in given:
        if name not in _OPTIONS[kind]:
            kinds = [other for other in _OPTIONS if name in _OPTIONS[other]]
            raise ValueError(f"--{name} does not go with {chosen}: it is an option of {', '.join(kinds)}")
    if "address" in given and (wrong := given.keys() & {"memory", "port"}):
        raise ValueError(f"--{min(wrong)} does not go with --address: that server already runs")
