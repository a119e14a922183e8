"""Files of trees, with a report of failed sentences, that an interrupted run can resume."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import IO

from treeformer.parsing.corpus import TreeLine
from treeformer.storage import WorkFolder, keep_lines, write_json


def write_lines(
    lines: Iterable[str],
    parse: Callable[[Iterator[str], int], Iterable[TreeLine]],
    output: Path,
    origin: Mapping[str, object],
) -> int:
    """Write a line of trees for each line of text; returns the number of failed sentences.

    Each failure is an object ``{"line", "sentence", "reason"}`` on a line of ``output.report``. Everything is
    written in the `WorkFolder` of the output first. If a run is interrupted, the next drops an incomplete
    last line and resumes after the others, provided that it is given the same text.

    Args:
        lines: the text, from its first line on.
        parse: the parsed lines of the rest of the text, given with the number of lines before it.
        output: the file of trees.
        origin: parser and options of the trees; a run with another origin is not resumed.
    """
    check_report(output)
    with WorkFolder(output) as work:
        run = _UnfinishedRun(work.path, output)
        text = _DigestedLines(lines)
        try:
            done = run.resume(text, origin)
            run.append(parse(text, done), text, done)
            check_report(output)  # it may have been written meanwhile
        except BaseException:
            if not run.has_trees():
                work.remove()  # there is nothing to resume
            raise
        failures = run.finish()
        work.remove()
    return failures


def report_path(output: Path) -> Path:
    """The file with the failures of a file of trees."""
    return output.with_name(f"{output.name}.report")


def check_report(output: Path) -> None:
    """Raise ``ValueError`` if the name of the report is taken by a file that is no report."""
    path = report_path(output)
    if not path.exists():
        return
    if path.is_file() and path.stat().st_size:
        with open(path, "rb") as stream:
            if all(_is_failure(line) for line in stream):
                return
    raise ValueError(f"{path}: not written by treeformer; move it away, the report needs its name")


def can_resume(output: Path) -> bool:
    """Whether an interrupted run left finished lines of this output."""
    work = WorkFolder(output)
    return _UnfinishedRun(work.path, output).has_trees()


class _DigestedLines(Iterator[str]):
    """Lines of text, each with a digest of the text up to it, kept until its trees are written."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._digest = b""
        self._waiting: deque[bytes] = deque()

    def __next__(self) -> str:
        line = next(self._lines)
        content = line.encode("utf-8", "surrogatepass")
        self._digest = blake2b(self._digest + content, digest_size=16).digest()
        self._waiting.append(self._digest)
        return line

    def next_digest(self) -> str:
        """The digest up to the first line that was read and has not been asked for."""
        return self._waiting.popleft().hex()


class _UnfinishedRun:
    """The files of an unfinished run: trees, failures, digests of the text, and the origin."""

    def __init__(self, folder: Path, output: Path) -> None:
        self.folder = folder
        self.output = output
        self.trees = folder / "trees"
        self.failures = folder / "report"
        self.digests = folder / "text"
        self.origin = folder / "origin.json"

    def has_trees(self) -> bool:
        """Whether a line of trees was written."""
        return self.trees.exists() and self.trees.stat().st_size > 0

    def resume(self, text: _DigestedLines, origin: Mapping[str, object]) -> int:
        """Read the text of all finished lines; returns their number.

        Raises ``ValueError`` if the run was begun with another text or origin.
        """
        done = keep_lines(self.trees, lambda line: True)
        if done:
            self._check_origin(origin)
            done = min(done, keep_lines(self.digests, lambda line: True))
        else:
            write_json(self.origin, dict(origin))
        for path in (self.trees, self.digests):
            _keep_first_lines(path, done)
        keep_lines(self.failures, lambda line: _is_failure(line) and json.loads(line)["line"] <= done)
        if done:
            self._check_text(text)
        return done

    def append(self, lines: Iterable[TreeLine], text: _DigestedLines, done: int) -> None:
        """Write the lines that follow the first ``done``."""
        # Unbuffered, and the trees last: of every line of trees, failures and digest are written.
        with (
            open(self.failures, "ab", buffering=0) as failures,
            open(self.digests, "ab", buffering=0) as digests,
            open(self.trees, "ab", buffering=0) as trees,
        ):
            for number, line in enumerate(lines, start=done + 1):
                for failure in line.failures:
                    entry = {"line": number, **asdict(failure)}
                    self._write_line(failures, json.dumps(entry, ensure_ascii=False))
                self._write_line(digests, text.next_digest())
                self._write_line(trees, line.text)
            os.fsync(failures.fileno())
            os.fsync(trees.fileno())

    def finish(self) -> int:
        """Give report and trees their final names; returns the number of failures."""
        report = report_path(self.output)
        with open(self.failures, "rb") as stream:
            failures = sum(1 for _ in stream)
        if failures:
            # A copy: if this is interrupted, the next run still has all failures.
            copy = self.folder / "report.copy"
            shutil.copyfile(self.failures, copy)
            os.replace(copy, report)
        else:
            report.unlink(missing_ok=True)
        os.replace(self.trees, self.output)
        return failures

    def _check_origin(self, origin: Mapping[str, object]) -> None:
        """Raise ``ValueError`` if the run has another origin, or no record of it."""
        for path in (self.origin, self.digests):
            if not path.is_file():
                raise ValueError(
                    f"{path}: missing, so the run cannot be resumed; delete {self.folder} to start again"
                )
        try:
            earlier = json.loads(self.origin.read_bytes())
        except (ValueError, RecursionError):
            earlier = None
        if not isinstance(earlier, dict):
            raise ValueError(f"{self.origin}: damaged; delete {self.folder} to start again")
        for name, value in origin.items():
            if earlier.get(name) != value:
                raise ValueError(
                    f"{self.output}: begun with {name} = {earlier.get(name)!r}, now it is {value!r}; "
                    f"delete {self.folder} to start again"
                )

    def _check_text(self, text: _DigestedLines) -> None:
        """Raise ``ValueError`` unless the text begins with the lines that were parsed."""
        with open(self.digests, "rb") as stream:
            for number, digest in enumerate(stream, start=1):
                if next(text, None) is None:
                    problem = f"the text has only {number - 1} lines"
                elif text.next_digest() != digest.decode("ascii", "replace").strip():
                    problem = f"line {number} of the text differs"
                else:
                    continue
                raise ValueError(
                    f"{self.output}: begun with another text: {problem}; "
                    f"give the same text, or delete {self.folder} to start again"
                )

    def _write_line(self, stream: IO[bytes], line: str) -> None:
        """Write a whole line; the next run drops one that is incomplete."""
        rest = memoryview(f"{line}\n".encode())
        try:
            while rest:
                rest = rest[stream.write(rest) :]
        except OSError as error:
            raise OSError(
                f"{self.output}: {error.strerror}; finished lines are kept, run the same command to resume"
            ) from error


def _is_failure(line: bytes) -> bool:
    """Whether a line of a file is an entry of a report."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.keys() == {"line", "sentence", "reason"}


def _keep_first_lines(path: Path, count: int) -> None:
    """Cut a file after this number of lines."""
    kept = 0

    def is_kept(line: bytes) -> bool:
        nonlocal kept
        kept += 1
        return kept <= count

    keep_lines(path, is_kept)
