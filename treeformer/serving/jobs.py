"""A queue of jobs: those that arrive together are done together, by whichever worker is free."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

_log = logging.getLogger("treeformer.serving")
_LOOK_SECONDS = 1.0  # how soon it is noticed that a worker which rests is no longer there


class Worker(Protocol):
    """Does jobs, one batch at a time; a thread of the queue calls it and waits."""

    def ready(self) -> None:
        """Return when it can work; an exception says that it cannot."""

    def __call__(self, asked: Sequence[Any], seconds: float) -> Sequence[Any]:
        """An answer for each question, which may be an exception; nobody waits after so many seconds."""


@dataclass(eq=False)
class Job:
    """One question, and where its answer goes."""

    kind: Hashable
    asked: Any
    size: int
    end: float
    answer: asyncio.Future[Any]


class JobQueue:
    """Jobs of the same kind are done in batches, in the order of their arrival, by whoever is free.

    Args:
        name: of the threads.
        workers: one thread for each.
        batch: inputs that are read together; a job with more is done alone.
        window: seconds that the first job waits for others.
        tell: is called with the number of inputs of each batch.
    """

    def __init__(
        self,
        name: str,
        workers: Sequence[Worker],
        *,
        batch: int,
        window: float,
        tell: Callable[[int], None],
    ) -> None:
        self._batch = batch
        self._window = window
        self._tell = tell
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._free = 0
        self._closing = False
        self._threads = [
            threading.Thread(target=self._run, args=(own,), name=name, daemon=True) for own in workers
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self, seconds: float) -> None:
        """Finish what was accepted, and end; a thread whose worker takes longer than that is left behind."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    async def ask(self, kind: Hashable, asked: Any, *, size: int, seconds: float) -> Any:
        """The answer to a question; an exception that is its answer is raised here.

        A job that nobody waits for any more is not begun; after so many seconds this is a TimeoutError.
        """
        loop = asyncio.get_running_loop()
        job = Job(kind, asked, size, time.monotonic() + seconds, loop.create_future())
        with self._changed:
            if self._closing:
                raise RuntimeError("this queue has been closed")
            self._jobs.append(job)
            self._changed.notify()
        try:
            async with asyncio.timeout(seconds):
                return await job.answer
        finally:
            with self._changed, suppress(ValueError):
                self._jobs.remove(job)

    def _run(self, worker: Worker) -> None:
        while not (self._closing and not self._jobs):
            try:
                worker.ready()
            except Exception as error:
                _log.error("not ready: %s", error)
                if self._closing:
                    return
                time.sleep(_LOOK_SECONDS)
                continue
            if jobs := self._next():
                self._do(worker, jobs)

    def _next(self) -> list[Job]:
        """The jobs of the next batch; none when the queue is to end, or nothing came for a while."""
        with self._changed:
            self._free += 1
            self._changed.wait_for(lambda: self._jobs or self._closing, _LOOK_SECONDS)
            end = time.monotonic() + self._window
            while self._jobs and not self._closing and self._waiting() < self._batch:
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    break
            taken = self._taken(min(self._batch, -(-self._waiting() // self._free)))
            self._free -= 1
            if self._jobs:
                self._changed.notify()
            return taken

    def _waiting(self) -> int:
        """Inputs of the jobs that wait."""
        return sum(job.size for job in self._jobs)

    def _taken(self, most: int) -> list[Job]:
        """The first job, and those of the same kind with which it is no larger than a batch may be."""
        taken: list[Job] = []
        left: deque[Job] = deque()
        size = 0
        for job in self._jobs:
            if not taken or (job.kind == taken[0].kind and size + job.size <= most):
                taken.append(job)
                size += job.size
            else:
                left.append(job)
        self._jobs = left
        return taken

    def _do(self, worker: Worker, jobs: list[Job]) -> None:
        self._tell(sum(job.size for job in jobs))
        seconds = max(job.end for job in jobs) - time.monotonic()
        try:
            answers = worker([job.asked for job in jobs], seconds)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:  # one of them is to blame, the others shall not suffer
                    self._do(worker, [job])
                return
            answers = [error]
        jobs[0].answer.get_loop().call_soon_threadsafe(_deliver, jobs, answers)


def _deliver(jobs: Sequence[Job], answers: Sequence[Any]) -> None:
    for job, answer in zip(jobs, answers, strict=True):
        if job.answer.done():
            continue
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)
