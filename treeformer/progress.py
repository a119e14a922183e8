"""Progress of long work: a live bar on a terminal, log lines everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

_SECONDS_BETWEEN_LINES = 10.0
_HANDFUL = 20  # texts


class Progress:
    """Reports nothing. Base class of `LogLines` and `LiveBar`, and what silent callers pass.

    Use it in a ``with`` block: a live bar is drawn only inside it.

    Args:
        unit: what is counted, in the plural, such as ``updates`` or ``lines``.
    """

    def __init__(self, unit: str = "steps") -> None:
        self.unit = unit

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the live bar."""

    def begin(self, unit: str) -> None:
        """Start to count something else, in this unit, from the beginning."""
        self.unit = unit

    def log(self, message: str) -> None:
        """Write a line that stays."""

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        """Report that ``done`` of ``total`` units are done; ``total`` is None where it is unknown."""


class LogLines(Progress):
    """Plain lines on standard error, with the time left; at most one update every ten seconds."""

    def __init__(self, unit: str = "steps") -> None:
        super().__init__(unit)
        self._last_line = time.monotonic()
        self._first_update: tuple[float, int] | None = None  # time, and units that were done

    def begin(self, unit: str) -> None:
        super().begin(unit)
        self._first_update = None

    def log(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        now = time.monotonic()
        if self._first_update is None:
            self._first_update = now, done
        if now - self._last_line < _SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        parts = [f"{done:,} {self.unit}" if total is None else f"{done:,} of {total:,} {self.unit}"]
        if detail:
            parts.append(detail)
        start, done_before = self._first_update
        if total is not None and done > done_before:
            left = (total - done) * (now - start) / (done - done_before)
            parts.append(f"{timedelta(seconds=round(left))} left")
        self.log(", ".join(parts))


class LiveBar(Progress):
    """A bar on the terminal with the time left; logged lines scroll above it."""

    def __init__(self, unit: str = "steps") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        super().__init__(unit)
        self._bars: Any = Bars(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}, {task.description},"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bars.add_task("starting", total=None, unit=unit)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, unit: str) -> None:
        super().begin(unit)
        self._bars.reset(self._task, total=None, description="starting", unit=unit)

    def log(self, message: str) -> None:
        self._bars.console.print(message, markup=False, highlight=False)

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        self._bars.update(self._task, total=total, completed=done, description=detail)


class Stages:
    """The time that each stage of some work takes, and how many texts it handles a second.

    >>> stages = Stages()
    >>> with stages.timed("read"):
    ...     _ = sum(range(1000))
    >>> stages.report(3)  # a handful: nothing is reported
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._start = time.monotonic()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time of a ``with`` block to this stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.monotonic() - start

    def report(self, count: int, unit: str = "texts") -> None:
        """Write texts a second, in all and by stage, to standard error; nothing for a handful of texts."""
        if count <= _HANDFUL:
            return
        rates = [f"{stage} {_rate(count, seconds)}" for stage, seconds in self._seconds.items()]
        total = _rate(count, time.monotonic() - self._start)
        print(f"{count:,} {unit}, {total} a second: {', '.join(rates)}", file=sys.stderr, flush=True)


def _rate(count: int, seconds: float) -> str:
    return f"{count / max(seconds, 1e-9):,.0f}"


def terminal_progress(unit: str) -> Progress:
    """A live bar if standard error is a terminal, else log lines."""
    return LiveBar(unit) if sys.stderr.isatty() else LogLines(unit)
