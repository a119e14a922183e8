"""Files of trees, with a report of failed sentences, that an interrupted run can resume."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO

from treeformer.parsing.corpus import TreeLine
from treeformer.storage import keep_lines, write_json


def write_lines(
    parse: Callable[[int], Iterable[TreeLine]], output: Path, origin: Mapping[str, object]
) -> int:
    """Write a line of trees for each line of input; returns the number of failed sentences.

    Each failure is an object ``{"line", "sentence", "reason"}`` on a line of ``output.report``. Trees are
    written to ``output.partial``, which gets its final name at the end. If a run is interrupted, the next
    drops an incomplete last line and resumes after the others.

    Args:
        parse: the parsed lines after a given number of lines.
        output: the file of trees.
        origin: input and options of the trees; a file with another origin is not resumed.
    """
    trees, report, note, final_report = (
        output.with_name(output.name + ending)
        for ending in (".partial", ".report.partial", ".partial.json", ".report")
    )
    done = keep_lines(trees, lambda line: True)
    if done:
        _check_origin(trees, note, origin)
    else:
        write_json(note, dict(origin))
    failures = keep_lines(report, lambda line: json.loads(line)["line"] <= done)
    try:
        failures += _append(parse(done), trees, report, done)
    except BaseException:
        if not trees.exists() or not trees.stat().st_size:  # there is nothing to resume
            for path in (trees, report, note):
                path.unlink(missing_ok=True)
        raise
    if failures:
        os.replace(report, final_report)
    else:
        report.unlink()
        final_report.unlink(missing_ok=True)
    os.replace(trees, output)
    note.unlink(missing_ok=True)
    return failures


def fingerprint(path: Path) -> str:
    """A cheap fingerprint of a file: its size, and the CRC of its first MiB."""
    with open(path, "rb") as stream:
        checksum = zlib.crc32(stream.read(1 << 20))
    return f"{path.stat().st_size} bytes, first with CRC {checksum:08x}"


def _append(lines: Iterable[TreeLine], trees: Path, report: Path, done: int) -> int:
    """Write the lines that follow the first ``done``; returns the number of failures."""
    failures = 0
    # Unbuffered, and the report first: failures of every line in the file of trees are in the report.
    with open(trees, "ab", buffering=0) as tree_stream, open(report, "ab", buffering=0) as report_stream:
        for number, line in enumerate(lines, start=done + 1):
            for failure in line.failures:
                entry = {"line": number, **asdict(failure)}
                _write_line(report_stream, json.dumps(entry, ensure_ascii=False))
                failures += 1
            _write_line(tree_stream, line.text)
    return failures


def _check_origin(trees: Path, note: Path, origin: Mapping[str, object]) -> None:
    """Raise ``ValueError`` if the unfinished file of trees has another origin."""
    if not note.exists():
        return
    earlier = json.loads(note.read_text(encoding="utf-8"))
    for name, value in origin.items():
        if earlier.get(name) != value:
            raise ValueError(
                f"{trees}: begun with {name} = {earlier.get(name)!r}, now it is {value!r}; "
                "delete the file to start again"
            )


def _write_line(stream: IO[bytes], line: str) -> None:
    """Write a whole line; the next run drops one that is incomplete."""
    rest = memoryview(f"{line}\n".encode())
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        raise OSError(
            f"{stream.name}: {error.strerror}; finished lines are kept, run the same command to resume"
        ) from error
