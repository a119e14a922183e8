"""A thread that owns a model: requests that arrive together are answered together."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[Sequence[Any]], Sequence[Any]]  #: one answer for each item, which may be an exception


@dataclass(eq=False)
class Job:
    """Items of one request, and where its answers go."""

    work: Work
    items: Sequence[Any]
    loop: asyncio.AbstractEventLoop
    answered: asyncio.Future[Sequence[Any]]
    given_up: bool = field(default=False)


class Worker:
    """Jobs of the same work are done in batches, one batch after another, in the order of their arrival.

    Args:
        name: of the thread.
        batch: items that are done together; a job with more is done alone.
        window: seconds that the first job waits for others.
        tell: is called with the number of items of each batch.
    """

    def __init__(
        self, name: str, *, batch: int, window: float, tell: Callable[[int], None] = lambda size: None
    ) -> None:
        self._batch = batch
        self._window = window
        self._tell = tell
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Finish what was accepted, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    async def ask(self, work: Work, items: Sequence[Any]) -> Sequence[Any]:
        """The answers of ``work`` for these items; what it raises for one of them is raised here.

        A job that nobody waits for any more is not begun.
        """
        loop = asyncio.get_running_loop()
        job = Job(work, items, loop, loop.create_future())
        with self._changed:
            if self._closing:
                raise RuntimeError("this worker has been closed")
            self._jobs.append(job)
            self._changed.notify()
        try:
            return await job.answered
        except asyncio.CancelledError:
            job.given_up = True
            raise

    def _run(self) -> None:
        while jobs := self._next():
            self._do(jobs)

    def _next(self) -> list[Job]:
        """The jobs of the next batch; none when the worker is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closing)
            end = time.monotonic() + self._window
            while not self._closing and self._waiting_items() < self._batch:
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    break
            return self._taken()

    def _waiting_items(self) -> int:
        return sum(len(job.items) for job in self._jobs)

    def _taken(self) -> list[Job]:
        """The first job, and those of the same work that fit into its batch."""
        taken: list[Job] = []
        left: deque[Job] = deque()
        size = 0
        for job in self._jobs:
            same = not taken or job.work == taken[0].work
            if same and (not taken or size + len(job.items) <= self._batch):
                taken.append(job)
                size += len(job.items)
            else:
                left.append(job)
        self._jobs = left
        return taken

    def _do(self, jobs: list[Job]) -> None:
        jobs = [job for job in jobs if not job.given_up]
        if not jobs:
            return
        items = [item for job in jobs for item in job.items]
        self._tell(len(items))
        try:
            answers = list(jobs[0].work(items))
        except Exception as error:
            if len(jobs) > 1:  # one of them is to blame, the others shall not suffer
                for job in jobs:
                    self._do([job])
                return
            answers = [error] * len(items)
        for job in jobs:
            own, answers = answers[: len(job.items)], answers[len(job.items) :]
            job.loop.call_soon_threadsafe(_deliver, job.answered, own)


def _deliver(answered: asyncio.Future[Sequence[Any]], answers: Sequence[Any]) -> None:
    if answered.done():
        return
    wrong = next((answer for answer in answers if isinstance(answer, Exception)), None)
    if wrong is None:
        answered.set_result(answers)
    else:
        answered.set_exception(wrong)
