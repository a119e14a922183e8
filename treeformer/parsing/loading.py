"""Parsers by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from treeformer.parsing.parser import Parser

MODELS = Path(__file__).parent / "models"  #: the parsers that come with the package, by language


def load_parser(name: str | os.PathLike[str], **options: Any) -> Parser:
    """The parser called ``name``, with the options of its backend.

    ``en``: the embedded parser of that language; ``corenlp:en``, ``corenlp:de``, ``corenlp:fr``: Stanford
    CoreNLP; a folder: an embedded parser that ``treeformer parser train`` wrote.
    """
    backend, _, language = os.fspath(name).partition(":")
    if backend == "corenlp":
        from treeformer.parsing.corenlp import CoreNlpParser

        return CoreNlpParser(language or "en", **options)
    from treeformer.parsing.embedded import EmbeddedParser

    folders = [
        folder for folder in (MODELS / os.fspath(name), Path(name)) if (folder / "parser.json").is_file()
    ]
    if not folders:
        embedded = ", ".join(sorted(folder.name for folder in MODELS.iterdir()))
        raise ValueError(
            f"parser: expected an embedded language ({embedded}), corenlp:en, corenlp:de, corenlp:fr, "
            f"or a folder with a parser, got {os.fspath(name)!r}"
        )
    return EmbeddedParser(folders[0], **options)
