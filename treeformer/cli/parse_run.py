"""A run of ``treeformer parse``: from a file or standard input to a file of trees or standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from treeformer.cli.main import is_interrupt
from treeformer.cli.parse_options import Engine
from treeformer.cli.terminal import hint_about_input
from treeformer.parsing.corpus import TreeLine, parse_lines
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.output import can_resume, report_path, write_lines
from treeformer.parsing.parser import Parser
from treeformer.progress import LogLines, terminal_progress
from treeformer.storage import WorkFolder
from treeformer.trees import TreeFormatError
from treeformer.trees.files import COMPRESSED, numbered_lines


def run(
    chosen: tuple[str, Callable[[], Parser]],
    file: Path | None,
    output: Path | None,
    *,
    tokenized: bool,
    one_per_line: bool,
    engine: Engine,
    workers: int,
) -> None:
    """Parse a file, or standard input, into ``output``, or onto standard output.

    Args:
        chosen: a description of the parser and a function that loads it.
        file, output: None for standard input and output.
        tokenized, one_per_line: see `LineParser`.
        engine, workers: what runs the parser, and in how many processes.
    """
    if output is not None:
        if output.is_symlink():
            output = output.resolve()  # the file is replaced, the link stays
        _check_output(output, file)
    name, make_parser = chosen
    line_parser = LineParser(make_parser, tokenized=tokenized, one_per_line=one_per_line)
    if file is None:
        hint_about_input("text")
    content = (line for _, line in numbered_lines(file or sys.stdin))
    wrong = "sentences that were not parsed and have flat trees"
    lines: Iterator[str] = (line.rstrip("\n") for line in content)
    if name.startswith("code:"):
        lines = iter(["".join(content)])  # the whole file is one text
        wrong = "texts with wrong syntax"
    parse = partial(_parse, line_parser, engine, workers, _count_lines(file))
    if output is None:
        failures = _print_trees(parse(lines, 0))
        hint = "; --output FILE keeps a report"
    else:
        origin = {"parser": name, "tokenized": tokenized, "one_per_line": one_per_line}
        failures = _write_trees(lines, parse, output, origin)
        hint = f", see {report_path(output)}"
    if failures:
        _log(f"{wrong}: {failures}{hint}")


def _print_trees(parsed: Iterable[TreeLine]) -> int:
    """Print the trees of each line; returns the number of failed sentences."""
    failures = 0
    for line in parsed:
        print(line.text)
        failures += len(line.failures)
    sys.stdout.flush()
    return failures


def _write_trees(
    lines: Iterator[str],
    parse: Callable[[Iterator[str], int], Iterator[TreeLine]],
    output: Path,
    origin: dict[str, object],
) -> int:
    """Write a file of trees that a later run can resume; returns the number of failed sentences."""
    try:
        return write_lines(lines, parse, output, origin)
    except BaseException as error:
        if is_interrupt(error) and can_resume(output):
            _log("interrupted: finished lines are kept; to resume, run the same command on the same text")
        raise


def _parse(
    line_parser: LineParser,
    engine: Engine,
    workers: int,
    total: int | None,
    lines: Iterator[str],
    done: int,
) -> Iterator[TreeLine]:
    """The parsed lines, which follow ``done`` lines of an earlier run, with progress on standard error."""
    if done:
        _log(f"resuming after {done} lines of an earlier run")
    parse = parse_lines
    if engine is Engine.RAY:
        from treeformer.parsing.ray_engine import parse_lines_with_ray

        parse = parse_lines_with_ray
    # A live bar would disturb trees that are printed on the same terminal.
    progress = LogLines("lines") if sys.stdout.isatty() else terminal_progress("lines")
    start = time.monotonic()
    parsed = sentences = 0
    with progress:
        progress.update(done, total, "loading the parser")
        for line in parse(lines, line_parser, workers=workers):
            yield line
            parsed += 1
            sentences += line.sentences
            progress.update(done + parsed, total, _speed(sentences, start))
    _log(f"{parsed} lines, {sentences} sentences, {_speed(sentences, start)}")


def _check_output(output: Path, file: Path | None) -> None:
    """Refuse an output that could not be written, or that would overwrite the text."""
    if output.exists() and not output.is_file():
        raise ValueError(f"--output {output}: expected the name of a file, got a folder or a device")
    if not output.parent.is_dir():
        raise ValueError(f"--output {output}: no such folder: {output.parent}")
    if output.suffix in COMPRESSED:
        raise ValueError(f"--output {output}: trees are written as plain text, which {output.suffix} is not")
    work = WorkFolder(output).path
    for written in (output, report_path(output), *work.glob("*")):
        if written.exists() and _is_input(written, file):
            raise ValueError(f"--output {output}: expected another file than the text itself")
    old = output.with_name(f"{output.name}.partial")
    if old.exists() and not _is_input(old, file):
        _log(f"{old}: left as it is; runs that an earlier version of treeformer began are not resumed")


def _is_input(path: Path, file: Path | None) -> bool:
    """Whether a file is the one that is read, under this or another name."""
    if file is not None:
        return path.samefile(file)
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError):  # standard input is no file
        return False


def _count_lines(file: Path | None) -> int | None:
    """The number of lines in a file; ``None`` for a stream or a file that cannot be read."""
    if file is None or not file.is_file():
        return None
    try:
        return sum(1 for _ in numbered_lines(file))
    except (TreeFormatError, OSError):
        return None


def _speed(sentences: int, start: float) -> str:
    seconds = max(time.monotonic() - start, 1e-9)
    return f"{sentences / seconds:.0f} sentences/s"


def _log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
