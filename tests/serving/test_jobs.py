"""Jobs that arrive together are done together, each with its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from treeformer.serving.jobs import JobQueue


class Doubling:
    """Doubles numbers, and tells how many it was given at a time; 13 breaks it."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def ready(self) -> None: ...

    def __call__(self, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.sizes.append(len(asked))
        if 13 in asked:
            raise RuntimeError("broken")
        return [ValueError(str(number)) if number < 0 else 2 * number for number in asked]


class Held(Doubling):
    """Waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.done: list[int] = []

    def __call__(self, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.go.wait(10)
        self.done += asked
        return asked


class Meeting(Doubling):
    """Goes on when two of its kind have work."""

    both = threading.Barrier(2, timeout=10)

    def __call__(self, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.both.wait()
        return super().__call__(asked, seconds)


class Late(Doubling):
    """Is ready only when it is asked for the second time."""

    def ready(self) -> None:
        if not self.sizes:
            self.sizes.append(0)
            raise ValueError("not yet")


def started(*workers: Doubling, batch: int = 8, sizes: list[int] | None = None) -> JobQueue:
    tell = (lambda size: None) if sizes is None else sizes.append
    queue = JobQueue("test", workers, batch=batch, window=0.02, tell=tell)
    queue.start()
    return queue


async def ask(queue: JobQueue, asked: int, *, kind: str = "", size: int = 1, seconds: float = 20) -> Any:
    return await queue.ask(kind, asked, size=size, seconds=seconds)


def test_jobs_that_arrive_together_are_one_batch() -> None:
    worker, sizes = Doubling(), list[int]()
    queue = started(worker, sizes=sizes)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number, size=2 if number else 1) for number in range(4)))

    assert asyncio.run(together()) == [0, 2, 4, 6]
    queue.close(20)
    assert worker.sizes == [4]
    assert sizes == [7]


def test_jobs_of_another_kind_are_another_batch() -> None:
    worker = Doubling()
    queue = started(worker)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number, kind="ab"[number % 2]) for number in range(6)))

    assert asyncio.run(together()) == [0, 2, 4, 6, 8, 10]
    queue.close(20)
    assert worker.sizes == [3, 3]


def test_a_batch_is_no_larger_than_its_limit() -> None:
    sizes: list[int] = []
    queue = started(Doubling(), batch=4, sizes=sizes)

    async def together() -> None:
        await asyncio.gather(*(ask(queue, 1, size=2) for _ in range(5)), ask(queue, 0, size=9))

    asyncio.run(together())
    queue.close(20)
    assert sorted(sizes) == [2, 4, 4, 9]


def test_whoever_is_free_takes_a_share() -> None:
    workers = [Meeting(), Meeting()]
    queue = started(*workers)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number) for number in range(8)))

    assert asyncio.run(together()) == [2 * number for number in range(8)]
    queue.close(20)
    assert [own.sizes for own in workers] == [[4], [4]]


def test_one_bad_question_spoils_no_other() -> None:
    queue = started(Doubling())

    async def together() -> list[object]:
        jobs = [ask(queue, 1), ask(queue, -1), ask(queue, 13), ask(queue, 3)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    good, bad, broken, whole = asyncio.run(together())
    queue.close(20)
    assert good == 2
    assert isinstance(bad, ValueError)
    assert isinstance(broken, RuntimeError)
    assert whole == 6


def test_what_nobody_waits_for_is_not_begun() -> None:
    held = Held()
    queue = started(held, batch=1)

    async def one_gives_up() -> None:
        first = asyncio.create_task(ask(queue, 1))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            await ask(queue, 2, seconds=0.05)
        held.go.set()
        await first
        await ask(queue, 3)

    asyncio.run(one_gives_up())
    queue.close(20)
    assert held.done == [1, 3]


def test_closing_finishes_what_was_accepted() -> None:
    held = Held()
    queue = started(held, batch=1)

    async def close_early() -> list[int]:
        jobs = [asyncio.create_task(ask(queue, number)) for number in range(3)]
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(asyncio.to_thread(queue.close, 20))
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="closed"):
            await ask(queue, 9)
        held.go.set()
        await closing
        return await asyncio.gather(*jobs)

    assert asyncio.run(close_early()) == [0, 1, 2]


def test_jobs_wait_until_a_worker_is_ready(caplog: pytest.LogCaptureFixture) -> None:
    queue = started(Late())
    assert asyncio.run(ask(queue, 4)) == 8
    queue.close(20)
    assert "not yet" in caplog.text


def test_closing_leaves_a_worker_behind_that_takes_too_long() -> None:
    held = Held()
    queue = started(held)

    async def close_meanwhile() -> None:
        job = asyncio.create_task(ask(queue, 1))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(queue.close, 0.1)
        assert not held.done
        held.go.set()
        assert await job == 1

    asyncio.run(close_meanwhile())


def test_what_nobody_waits_for_is_not_kept_where_no_worker_is_ready() -> None:
    queue = JobQueue("test", [], batch=8, window=0.02, tell=lambda size: None)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await ask(queue, 1, seconds=0.05)

    asyncio.run(give_up())
    assert not queue._jobs
