"""Lines of trees on disk, a report of those that are flat, and what an interrupted run needs to go on."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO

from treeformer.parsing.failures import TreeLine
from treeformer.storage import keep_lines


def write_lines(
    parsed: Callable[[int], Iterable[TreeLine]], output: Path, origin: Mapping[str, object]
) -> int:
    """Write a line of trees for each line of input to ``output``; how many sentences were not parsed.

    Each of these is an object ``{"line", "sentence", "reason"}`` on a line of ``output.report``. Until all is
    done the lines stand in ``output.partial``. What is there when a run begins is kept, a torn last line
    dropped, and ``parsed(done)`` asked for the rest.

    Args:
        parsed: the parsed lines after so many.
        output: the file of trees.
        origin: what the trees are made from and how. What another origin began is not gone on with.
    """
    trees = _beside(output, ".partial")
    report = _beside(output, ".report.partial")
    note = _beside(output, ".partial.json")
    done = keep_lines(trees, lambda line: True)
    if done:
        _check_origin(trees, note, origin)
    else:
        note.write_text(json.dumps(dict(origin), ensure_ascii=False), encoding="utf-8")
    failures = keep_lines(report, lambda line: json.loads(line)["line"] <= done)
    try:
        failures += _append(parsed(done), trees, report, done)
    except BaseException:
        if not trees.exists() or not trees.stat().st_size:  # there is nothing to go on with
            for path in (trees, report, note):
                path.unlink(missing_ok=True)
        raise
    if failures:
        os.replace(report, _beside(output, ".report"))
    else:
        report.unlink()
        _beside(output, ".report").unlink(missing_ok=True)
    os.replace(trees, output)
    note.unlink(missing_ok=True)
    return failures


def _append(parsed: Iterable[TreeLine], trees: Path, report: Path, done: int) -> int:
    """Write the lines that come after so many; the number of failures."""
    failures = 0
    # Unbuffered, and the report first: each line of trees that is there has its failures told.
    with open(trees, "ab", buffering=0) as to_trees, open(report, "ab", buffering=0) as to_report:
        for number, line in enumerate(parsed, start=done + 1):
            for failure in line.failures:
                told = json.dumps({"line": number, **asdict(failure)}, ensure_ascii=False)
                _write_line(to_report, told)
                failures += 1
            _write_line(to_trees, line.text)
    return failures


def fingerprint(path: Path) -> str:
    """Size and beginning of a file, by which another file of that name is told from it."""
    with open(path, "rb") as stream:
        beginning = zlib.crc32(stream.read(1 << 20))
    return f"{path.stat().st_size} bytes, first with CRC {beginning:08x}"


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(output.name + ending)


def _check_origin(trees: Path, note: Path, origin: Mapping[str, object]) -> None:
    if not note.exists():
        return
    begun = json.loads(note.read_text(encoding="utf-8"))
    for name, value in origin.items():
        if begun.get(name) != value:
            raise ValueError(
                f"{trees}: begun with {name} = {begun.get(name)!r}, now it is {value!r}; "
                "delete the file to begin anew"
            )


def _write_line(stream: IO[bytes], line: str) -> None:
    """Write all of a line, or say where there was no room; what is torn is dropped by the next run."""
    rest = memoryview(f"{line}\n".encode())
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        problem = (
            f"{stream.name}: {error.strerror}; what is there is kept, and the same command goes on with it"
        )
        raise OSError(problem) from error
