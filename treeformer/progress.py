"""Progress of long work: a live bar on a terminal, log lines everywhere else."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

_SECONDS_BETWEEN_LINES = 10.0


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


def terminal_progress(unit: str) -> Progress:
    """A live bar if standard error is a terminal, else log lines."""
    return LiveBar(unit) if sys.stderr.isatty() else LogLines(unit)
