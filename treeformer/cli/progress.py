"""How far a long run is: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta

from treeformer.parsing.failures import TreeLine

_EVERY = 10.0  # seconds between two lines in a log


class Tally:
    """Lines and sentences since the start.

    Args:
        done: lines that an earlier run did.
        total: lines there are in all, where that is known.
    """

    def __init__(self, done: int, total: int | None) -> None:
        self.done = done
        self.total = total
        self.lines = self.sentences = 0
        self._start = time.monotonic()

    def add(self, line: TreeLine) -> None:
        """Count a line."""
        self.lines += 1
        self.sentences += line.sentences

    def seconds(self) -> float:
        """Time since the start."""
        return max(time.monotonic() - self._start, 1e-9)

    def speed(self) -> str:
        """Sentences a second, in words."""
        return f"{self.sentences / self.seconds():.0f} sentences/s"

    def __str__(self) -> str:
        if self.total is None or not self.lines:
            return f"{self.done + self.lines} lines, {self.speed()}"
        left = (self.total - self.done - self.lines) * self.seconds() / self.lines
        return (
            f"{self.done + self.lines} of {self.total} lines, {self.speed()}, "
            f"{timedelta(seconds=round(left))} left"
        )


def told(parsed: Iterable[TreeLine], tally: Tally) -> Iterator[TreeLine]:
    """The same lines, with their number and speed told on standard error from time to time."""
    last = time.monotonic()
    for line in parsed:
        yield line
        tally.add(line)
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            print(tally, file=sys.stderr, flush=True)


def shown(parsed: Iterable[TreeLine], tally: Tally) -> Iterator[TreeLine]:
    """The same lines, with a bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("lines, {task.fields[speed]},"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=tally.total, completed=tally.done, speed=tally.speed())
        for line in parsed:
            yield line
            tally.add(line)
            progress.update(task, completed=tally.done + tally.lines, speed=tally.speed())
