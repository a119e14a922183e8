"""How far training is: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Says nothing: for the processes beside the first."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the live line."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def show(self, step: int, updates: int, text: str) -> None:
        """How far it is; the next call may take its place."""


class Lines(Progress):
    """Plain lines on standard error, those of `show` no more often than every ten seconds."""

    def __init__(self) -> None:
        self._shown = -float("inf")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def show(self, step: int, updates: int, text: str) -> None:
        now = time.monotonic()
        if now - self._shown >= 10:
            self._shown = now
            self.say(f"update {step} of {updates}: {text}")


class Live(Progress):
    """A bar on the terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self._bars: Any = Bars(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("updates, {task.description},"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bars.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def show(self, step: int, updates: int, text: str) -> None:
        self._bars.update(self._task, total=updates, completed=step, description=text)


def progress_of(*, first: bool) -> Progress:
    """A live line if standard error is a terminal, else plain lines; nothing beside the first process."""
    if not first:
        return Progress()
    return Live() if sys.stderr.isatty() else Lines()
