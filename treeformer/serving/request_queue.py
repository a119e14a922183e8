"""A queue of requests: those that arrive together are answered together, by the first free worker."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from treeformer.chunking import split_by_total

_log = logging.getLogger("treeformer.serving")
_CHECK_SECONDS = 1.0  # how often an idle worker is asked whether it is ready
_BATCH_COST = 16_000  # so that a small request does not wait for many large ones in its batch
_PEERS = 10_000  # peers whose last turn is remembered


class BatchWorker(Protocol):
    """Answers requests, one batch at a time; a thread of the queue calls it and waits."""

    def ready(self) -> None:
        """Return when the worker can work; raise an exception if it cannot."""

    def __call__(self, requests: Sequence[Any], seconds: float) -> Sequence[Any]:
        """An answer or an exception for each request; nobody waits longer than ``seconds``."""

    def abandon(self) -> None:
        """Stop the work on the current batch if that is possible: nobody waits for it."""


@dataclass(eq=False)
class QueuedRequest:
    """A request that waits for its answer.

    key: requests with the same key can be in one batch.
    size: number of inputs.
    cost: how much work it is, such as the number of characters.
    turn: the request with the smallest turn is next.
    deadline: a time of `time.monotonic` after which nobody waits.
    answer: receives the answer.
    """

    key: Hashable
    content: Any
    size: int
    cost: int
    turn: int
    deadline: float
    answer: asyncio.Future[Any]


class RequestQueue:
    """Answers requests in batches; each worker has a thread.

    Peers get equal shares of the work, measured by the cost of their requests (self-clocked fair queueing):
    each request is due when its peer has had its cost, counted from the work that is being done, or from the
    request before it. So a peer with few small requests waits for no other's many large ones. The requests
    of one peer are answered in the order of their arrival.

    Args:
        name: name of the threads.
        workers: workers that answer the requests.
        batch: maximum number of inputs in a batch; a larger request gets a separate batch.
        window: seconds that the first request waits for others.
        record_batch: is called with the number of inputs of each batch.
    """

    def __init__(
        self,
        name: str,
        workers: Sequence[BatchWorker],
        *,
        batch: int,
        window: float,
        record_batch: Callable[[int], None],
    ) -> None:
        self._batch = batch
        self._window = window
        self._record_batch = record_batch
        self._queued: list[QueuedRequest] = []
        self._changed = threading.Condition()
        self._working: dict[BatchWorker, list[QueuedRequest]] = {}
        self._turn = 0  # of the last request that was taken
        self._last_turns: dict[str, int] = {}  # of the last request of each peer
        self._free_workers = 0
        self._closing = False
        self._threads = [
            threading.Thread(target=self._run, args=(worker,), name=name, daemon=True) for worker in workers
        ]
        for thread in self._threads:
            thread.start()

    def close(self, seconds: float) -> None:
        """Answer the queued requests and end; threads that take longer than ``seconds`` are abandoned."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    async def ask(
        self, key: Hashable, content: Any, *, size: int, seconds: float, cost: int = 1, peer: str = ""
    ) -> Any:
        """The answer to a request; TimeoutError after ``seconds``.

        An answer that is an exception is raised. A request that nobody waits for is not started, and a
        batch that nobody waits for is abandoned.
        """
        answer = asyncio.get_running_loop().create_future()
        with self._changed:
            if self._closing:
                raise RuntimeError("this queue has been closed")
            turn = self._next_turn(peer, cost)
            request = QueuedRequest(key, content, size, cost, turn, time.monotonic() + seconds, answer)
            self._queued.append(request)
            self._changed.notify()
        try:
            async with asyncio.timeout(seconds):
                return await request.answer
        finally:
            with self._changed, suppress(ValueError):
                self._queued.remove(request)
            self._abandon_unwanted(request)

    def _next_turn(self, peer: str, cost: int) -> int:
        """The turn of the next request of a peer."""
        if len(self._last_turns) > _PEERS:
            self._last_turns = {name: turn for name, turn in self._last_turns.items() if turn > self._turn}
        turn = self._last_turns[peer] = max(self._turn, self._last_turns.get(peer, 0)) + cost
        return turn

    def _abandon_unwanted(self, request: QueuedRequest) -> None:
        """Abandon the batch of a request if nobody waits for any of its answers any more."""
        with self._changed:
            for worker, requests in self._working.items():
                if request in requests and all(one.answer.done() for one in requests):
                    worker.abandon()

    def _run(self, worker: BatchWorker) -> None:
        while not (self._closing and not self._queued):
            try:
                worker.ready()
            except Exception as error:
                _log.error("a worker is not ready: %s", error)
                if self._closing:
                    return
                time.sleep(_CHECK_SECONDS)
                continue
            if requests := self._next_batch():
                with self._changed:
                    self._working[worker] = requests
                try:
                    self._answer(worker, requests)
                finally:
                    with self._changed:
                        del self._working[worker]

    def _next_batch(self) -> list[QueuedRequest]:
        """The requests of the next batch; none if nothing arrived for a while or the queue ends."""
        with self._changed:
            self._free_workers += 1
            self._changed.wait_for(lambda: self._queued or self._closing, _CHECK_SECONDS)
            window_end = time.monotonic() + self._window
            while self._queued and not self._closing and self._queued_inputs() < self._batch:
                if not self._changed.wait(max(0.0, window_end - time.monotonic())):
                    break
            share = -(-self._queued_inputs() // self._free_workers)
            requests = self._take(min(self._batch, share))
            self._free_workers -= 1
            if self._queued:
                self._changed.notify()
            return requests

    def _queued_inputs(self) -> int:
        return sum(request.size for request in self._queued)

    def _take(self, most: int) -> list[QueuedRequest]:
        """Remove and return the request whose turn it is, and more with its key up to ``most`` inputs."""
        if not self._queued:
            return []
        self._queued.sort(key=lambda request: request.turn)
        alike = [request for request in self._queued if request.key == self._queued[0].key]
        few = next(split_by_total(alike, lambda request: request.size, budget=most))
        taken = next(split_by_total(few, lambda request: request.cost, budget=_BATCH_COST))
        self._queued = [request for request in self._queued if request not in taken]
        self._turn = max(self._turn, taken[0].turn)
        return taken

    def _answer(self, worker: BatchWorker, requests: list[QueuedRequest]) -> None:
        requests = [request for request in requests if not request.answer.done()]
        if not requests:
            return
        self._record_batch(sum(request.size for request in requests))
        seconds = max(request.deadline for request in requests) - time.monotonic()
        try:
            answers = worker([request.content for request in requests], seconds)
        except Exception as error:
            if len(requests) > 1:
                for request in requests:  # one of them is at fault; the others are answered
                    self._answer(worker, [request])
                return
            answers = [error]
        with suppress(RuntimeError):  # the loop has been closed, and nobody waits
            requests[0].answer.get_loop().call_soon_threadsafe(_deliver, requests, answers)


def _deliver(requests: Sequence[QueuedRequest], answers: Sequence[Any]) -> None:
    for request, answer in zip(requests, answers, strict=True):
        if request.answer.done():
            continue
        if isinstance(answer, Exception):
            request.answer.set_exception(answer)
        else:
            request.answer.set_result(answer)
