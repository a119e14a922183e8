"""The parser that a command line asks for, with its options."""

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
    """A description of the parser with all options that its trees depend on, and a function that loads it.

    Args:
        parser: ``embedded``, ``corenlp``, a folder, or any other name that `load_parser` takes.
        command: a program to use instead.
        language: language of the text; None for the language of the parser, else English.
        options: options of the parser by name, ``None`` for options that were not given.
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
    backend = "corenlp" if parser.partition(":")[0] == "corenlp" else "embedded"
    _check(given, backend, f"--parser {parser}")
    name = parser_name(parser, language)
    details = [f"{key} {given[key]}" for key in _TREES_DEPEND_ON if key in given]
    return ", ".join([name, *details]), parser_maker(name, **given)


def _check(given: Mapping[str, object], kind: str, chosen: str) -> None:
    """Raise ``ValueError`` for options that the chosen kind of parser does not have."""
    for name in given:
        if name not in _OPTIONS[kind]:
            kinds = [other for other in _OPTIONS if name in _OPTIONS[other]]
            raise ValueError(f"--{name} does not go with {chosen}: it is an option of {', '.join(kinds)}")
    for name in ("memory", "port"):
        if "address" in given and name in given:
            raise ValueError(f"--{name} does not go with --address: that server is already running")
