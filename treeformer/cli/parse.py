"""``treeformer parse``: text to trees."""

from __future__ import annotations

from treeformer.cli import parse_options as option
from treeformer.cli.parse_options import Device, Engine


def command(
    file: option.File = None,
    output: option.Output = None,
    language: option.Language = None,
    parser: option.ParserName = "embedded",
    parser_command: option.ParserCommand = None,
    tokenized: option.Tokenized = False,
    one_per_line: option.OnePerLine = False,
    workers: option.Workers = 1,
    engine: option.EngineName = Engine.LOCAL,
    timeout: option.Timeout = None,
    device: option.DeviceName = None,
    bf16: option.Bf16 = False,
    model: option.ModelName = None,
    caseless: option.Caseless = False,
    unsplit: option.Unsplit = False,
    memory: option.Memory = None,
    threads: option.Threads = None,
    port: option.Port = None,
    address: option.Address = None,
) -> None:
    """Parse text: the trees of each line's sentences on one line, an empty line for a line without words.

    A sentence that the parser fails on gets a flat tree and, with --output, a line in OUTPUT.report.

    treeformer parse < sentences.txt > trees.txt
    """
    if engine is Engine.RAY and device is Device.CUDA:
        raise ValueError("--device cuda does not go with --engine ray: workers there are given no GPU")
    options = {
        "timeout": timeout,
        "device": device and device.value,
        "bf16": bf16 or None,
        "model": model and model.value,
        "caseless": caseless or None,
        "unsplit": unsplit or None,
        "memory": memory,
        "threads": threads,
        "port": port,
        "address": address,
    }
    from treeformer.cli.parse_run import run
    from treeformer.cli.parser_choice import choose_parser

    chosen = choose_parser(parser, parser_command, language, options)
    run(chosen, file, output, tokenized=tokenized, one_per_line=one_per_line, engine=engine, workers=workers)
