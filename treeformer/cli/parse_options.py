"""The options of ``treeformer parse``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Engine(StrEnum):
    """What runs the workers."""

    LOCAL = "local"
    RAY = "ray"


class Device(StrEnum):
    """Where the embedded parser's network runs."""

    CPU = "cpu"
    CUDA = "cuda"


class Model(StrEnum):
    """CoreNLP's parsers."""

    SRBEAM = "srbeam"
    SR = "sr"
    PCFG = "pcfg"


_RUN = "The run"
_CORENLP = "CoreNLP"

File = Annotated[Path | None, typer.Argument(help="Text, a line at a time; default: standard input.")]
Output = Annotated[
    Path | None,
    typer.Option(help="Trees, a line for each line; an interrupted run goes on where it stopped."),
]
Language = Annotated[str | None, typer.Option(help="Language of the text: en (default), de or fr.")]
ParserName = Annotated[
    str, typer.Option(help="embedded, corenlp, or a folder that `treeformer parser train` wrote.")
]
ParserCommand = Annotated[
    str | None, typer.Option(help="A program that reads tokens, a sentence a line, and writes brackets.")
]
Tokenized = Annotated[bool, typer.Option("--tokenized", help="Tokens are given, with spaces between them.")]
OnePerLine = Annotated[
    bool, typer.Option("--one-per-line", help="Each line is one sentence and gives one tree.")
]

Workers = Annotated[
    int, typer.Option(min=1, help="Parsers that work at the same time.", rich_help_panel=_RUN)
]
EngineName = Annotated[
    Engine,
    typer.Option(help="Processes here, or Ray, on the cluster in RAY_ADDRESS.", rich_help_panel=_RUN),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds for a request to CoreNLP or a run of the program. What takes longer is parsed in "
        "smaller parts; a sentence that takes longer by itself gets a flat tree.",
        rich_help_panel=_RUN,
    ),
]
DeviceName = Annotated[
    Device | None,
    typer.Option(help="Of the embedded parser; all workers share the GPU.", rich_help_panel=_RUN),
]
Bf16 = Annotated[
    bool,
    typer.Option(
        "--bf16",
        help="The embedded parser computes in bfloat16: faster where the hardware has it.",
        rich_help_panel=_RUN,
    ),
]

ModelName = Annotated[
    Model | None,
    typer.Option(help="Shift-reduce with or without a beam, or PCFG.", rich_help_panel=_CORENLP),
]
Caseless = Annotated[
    bool, typer.Option("--caseless", help="For English in lower case.", rich_help_panel=_CORENLP)
]
Unsplit = Annotated[
    bool,
    typer.Option("--unsplit", help="Leave German im and French du in one word.", rich_help_panel=_CORENLP),
]
Memory = Annotated[
    str | None, typer.Option(help="Java's largest heap, such as 4g.", rich_help_panel=_CORENLP)
]
Threads = Annotated[int | None, typer.Option(help="Requests at a time.", rich_help_panel=_CORENLP)]
Port = Annotated[
    int | None, typer.Option(help="Of the server; default: any that is free.", rich_help_panel=_CORENLP)
]
Address = Annotated[
    str | None,
    typer.Option(help="Of a server that already runs, http://HOST:PORT.", rich_help_panel=_CORENLP),
]
