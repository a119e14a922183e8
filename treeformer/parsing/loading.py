"""Parsers by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from treeformer.parsing.parser import Parser

MODELS = Path(__file__).parent / "models"  #: the parsers in the package, a folder for each language
_REGISTERED: dict[str, Callable[..., Parser]] = {}


def register_parser(name: str, make: Callable[..., Parser]) -> None:
    """Add a parser that `load_parser`, recipes and commands can name.

    Args:
        name: not one of treeformer's parsers; a second registration replaces the first.
        make: its class, or a function of a module, so that other processes can import it.
    """
    if name in ("embedded", "command") or name.startswith(("corenlp", "code:")) or (MODELS / name).is_dir():
        raise ValueError(f"name: {name!r} is a parser that comes with treeformer, expected another")
    _REGISTERED[name] = make


def parser_name(parser: str, language: str) -> str:
    """The name that `load_parser` takes for the ``parser`` of a recipe or a command line.

    >>> parser_name("embedded", "de"), parser_name("corenlp", "fr"), parser_name("corenlp:de", "en")
    ('de', 'corenlp:fr', 'corenlp:de')
    """
    return {"embedded": language, "corenlp": f"corenlp:{language}"}.get(parser, parser)


def parser_maker(name: str | os.PathLike[str], **options: Any) -> Callable[[], Parser]:
    """A function that loads the parser called ``name``, here or in another process."""
    make = _REGISTERED.get(os.fspath(name))
    return partial(load_parser, name, **options) if make is None else partial(make, **options)


def load_parser(name: str | os.PathLike[str], **options: Any) -> Parser:
    """The parser called ``name``, with the options of its backend.

    ``en``: the embedded parser of that language; ``corenlp:en``, ``corenlp:de``, ``corenlp:fr``: Stanford
    CoreNLP; ``code:python``, ``code:javascript``, ``code:java``: source code through tree-sitter; a folder:
    an embedded parser written by ``treeformer parser train``; or a name given to `register_parser`.
    """
    name = os.fspath(name)
    if name in _REGISTERED:
        return _REGISTERED[name](**options)
    backend, _, language = name.partition(":")
    if backend == "corenlp":
        from treeformer.parsing.corenlp import CoreNlpParser

        return CoreNlpParser(language or "en", **options)
    if backend == "code":
        from treeformer.parsing.source_code import CodeParser

        return CodeParser(language, **options)
    from treeformer.parsing.embedded import EmbeddedParser

    for folder in (MODELS / name, Path(name)):
        if (folder / "parser.json").is_file():
            return EmbeddedParser(folder, **options)
    embedded = ", ".join(sorted(folder.name for folder in MODELS.iterdir()))
    raise ValueError(
        f"parser: expected an embedded language ({embedded}), corenlp:en, corenlp:de, corenlp:fr, "
        f"code:python, code:javascript, code:java, or a folder with a parser, got {name!r}"
    )
