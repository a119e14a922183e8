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

File = Annotated[Path | None, typer.Argument(help="Lines of text; default: standard input.")]
Output = Annotated[
    Path | None,
    typer.Option(help="File of trees, one line for each line of text; an interrupted run resumes."),
]
Language = Annotated[str | None, typer.Option(help="Language of the text: en (default), de or fr.")]
ParserName = Annotated[
    str, typer.Option(help="Parser: embedded, corenlp, or a folder written by `treeformer parser train`.")
]
ParserCommand = Annotated[
    str | None, typer.Option(help="A program that reads one sentence of tokens per line and writes brackets.")
]
Tokenized = Annotated[
    bool, typer.Option("--tokenized", help="The text is tokenized: tokens are separated by spaces.")
]
OnePerLine = Annotated[
    bool, typer.Option("--one-per-line", help="Each line is one sentence and gives one tree.")
]

Workers = Annotated[
    int, typer.Option(min=1, max=1024, help="Number of parser processes.", rich_help_panel=_RUN)
]
EngineName = Annotated[
    Engine,
    typer.Option(
        help="What runs the parsers: local processes, or Ray on the cluster in RAY_ADDRESS.",
        rich_help_panel=_RUN,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds for a request to CoreNLP or a run of the program. A batch that takes longer is parsed "
        "in smaller parts; a single sentence that takes longer gets a flat tree.",
        rich_help_panel=_RUN,
    ),
]
DeviceName = Annotated[
    Device | None,
    typer.Option(help="Device of the embedded parser; all workers share the GPU.", rich_help_panel=_RUN),
]
Bf16 = Annotated[
    bool,
    typer.Option(
        "--bf16",
        help="Run the embedded parser in bfloat16, which is faster on hardware that supports it.",
        rich_help_panel=_RUN,
    ),
]

ModelName = Annotated[
    Model | None,
    typer.Option(
        help="Model of CoreNLP: shift-reduce with or without a beam, or PCFG.", rich_help_panel=_CORENLP
    ),
]
Caseless = Annotated[
    bool,
    typer.Option("--caseless", help="Use a tagger for English text in lower case.", rich_help_panel=_CORENLP),
]
Unsplit = Annotated[
    bool,
    typer.Option("--unsplit", help="Keep German im and French du as one word.", rich_help_panel=_CORENLP),
]
Memory = Annotated[
    str | None, typer.Option(help="Java's largest heap, such as 4g.", rich_help_panel=_CORENLP)
]
Threads = Annotated[int | None, typer.Option(help="Number of concurrent requests.", rich_help_panel=_CORENLP)]
Port = Annotated[
    int | None, typer.Option(help="Port of the server; default: any free port.", rich_help_panel=_CORENLP)
]
Address = Annotated[
    str | None,
    typer.Option(help="Address of a running server, http://HOST:PORT.", rich_help_panel=_CORENLP),
]
