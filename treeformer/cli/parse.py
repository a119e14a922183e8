"""``treeformer parse``: text to trees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from treeformer.cli import parse_options as option
from treeformer.cli.parse_options import Device, Engine
from treeformer.cli.parser_choice import choose_parser
from treeformer.cli.progress import Tally, shown, told
from treeformer.parsing.corpus import LineParser, parse_lines
from treeformer.parsing.failures import TreeLine
from treeformer.parsing.output import fingerprint, write_lines
from treeformer.parsing.ray_engine import parse_lines_with_ray
from treeformer.trees import TreeFormatError
from treeformer.trees.files import COMPRESSED, numbered_lines


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
    """Parse text: each line gives the trees of its sentences on one line, an empty line an empty one.

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
    if output is not None:
        _check_output(output, file)
    name, make_parser = choose_parser(parser, parser_command, language, options)
    parsed = _parsed(
        file, LineParser(make_parser, tokenized=tokenized, one_per_line=one_per_line), engine, workers
    )
    if output is None:
        _print(parsed(0))
        return
    origin: dict[str, object] = {"parser": name, "tokenized": tokenized, "one_per_line": one_per_line}
    if file is not None and file.is_file():
        origin["input"] = fingerprint(file)
    failures = write_lines(parsed, output, origin)
    if failures:
        _tell(f"sentences that were not parsed and have flat trees: {failures}, see {output}.report")


def _parsed(
    file: Path | None, line_parser: LineParser, engine: Engine, workers: int
) -> Callable[[int], Iterator[TreeLine]]:
    """The parsed lines after so many, with progress told on the way."""
    parse = parse_lines_with_ray if engine is Engine.RAY else parse_lines

    def parsed(done: int) -> Iterator[TreeLine]:
        if done:
            _tell(f"{done} lines are there from an earlier run")
        lines = (line.rstrip("\n") for _, line in numbered_lines(file or sys.stdin))
        skipped = sum(1 for _ in islice(lines, done))
        if skipped < done:
            raise ValueError(f"expected the text of the earlier run, got one of only {skipped} lines")
        tally = Tally(done, _count(file))
        follow = shown if sys.stderr.isatty() and not sys.stdout.isatty() else told
        yield from follow(parse(lines, line_parser, workers=workers), tally)
        _tell(f"{tally.lines} lines, {tally.sentences} sentences, {tally.speed()}")

    return parsed


def _check_output(output: Path, file: Path | None) -> None:
    """Refuse before the work what could not be written after it, or would be lost by it."""
    if output.exists() and not output.is_file():
        raise ValueError(f"--output {output}: expected the name of a file, got a folder or a device")
    if file is not None and output.exists() and output.samefile(file):
        raise ValueError(f"--output {output}: expected another file than the text itself")
    if output.suffix in COMPRESSED:
        raise ValueError(f"--output {output}: trees are written as plain text, which {output.suffix} is not")


def _print(parsed: Iterator[TreeLine]) -> None:
    failures = 0
    for line in parsed:
        print(line.text)
        failures += len(line.failures)
    sys.stdout.flush()
    if failures:
        _tell(f"sentences that were not parsed and have flat trees: {failures}; --output FILE keeps a report")


def _count(file: Path | None) -> int | None:
    """The number of lines in a file; ``None`` for a stream, and where reading them will give an error."""
    if file is None or not file.is_file():
        return None
    try:
        return sum(1 for _ in numbered_lines(file))
    except (TreeFormatError, OSError):
        return None


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
