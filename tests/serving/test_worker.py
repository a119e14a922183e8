"""Requests that arrive together are answered together, each with its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from treeformer.serving.worker import Worker


def doubled(items: Sequence[int]) -> list[int | Exception]:
    return [ValueError(str(item)) if item < 0 else 2 * item for item in items]


def fragile(items: Sequence[int]) -> list[int]:
    if -1 in items:
        raise RuntimeError("broken")
    return list(items)


class Held:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.done: list[int] = []

    def work(self, items: Sequence[int]) -> Sequence[int]:
        self.go.wait(10)
        self.done += items
        return items


def started(sizes: list[int], batch: int = 8) -> Worker:
    worker = Worker("test", batch=batch, window=0.02, tell=sizes.append)
    worker.start()
    return worker


def test_jobs_that_arrive_together_are_one_batch() -> None:
    sizes: list[int] = []
    worker = started(sizes)

    async def ask() -> list[Sequence[int]]:
        return await asyncio.gather(*(worker.ask(doubled, [number]) for number in range(6)))

    assert asyncio.run(ask()) == [[2 * number] for number in range(6)]
    worker.close()
    assert sizes == [6]


def test_a_batch_is_no_larger_than_its_limit() -> None:
    sizes: list[int] = []
    worker = started(sizes, batch=4)

    async def ask() -> None:
        await asyncio.gather(*(worker.ask(doubled, [1, 2]) for _ in range(5)), worker.ask(doubled, [0] * 9))

    asyncio.run(ask())
    worker.close()
    assert sum(sizes) == 19
    assert sorted(sizes) == [2, 4, 4, 9]


def test_one_bad_item_is_the_fault_of_its_own_request() -> None:
    worker = started([])

    async def ask() -> list[object]:
        jobs = [worker.ask(doubled, [1]), worker.ask(doubled, [-1]), worker.ask(fragile, [-1, 2])]
        return await asyncio.gather(*jobs, worker.ask(fragile, [3]), return_exceptions=True)

    good, bad, broken, whole = asyncio.run(ask())
    worker.close()
    assert good == [2]
    assert isinstance(bad, ValueError)
    assert isinstance(broken, RuntimeError)
    assert whole == [3]


def test_what_nobody_waits_for_is_not_begun() -> None:
    held = Held()
    worker = started([], batch=1)

    async def ask() -> None:
        first = asyncio.create_task(worker.ask(held.work, [1]))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await worker.ask(held.work, [2])
        held.go.set()
        await first
        await worker.ask(held.work, [3])

    asyncio.run(ask())
    worker.close()
    assert held.done == [1, 3]


def test_closing_finishes_what_was_accepted() -> None:
    held = Held()
    worker = started([], batch=1)

    async def ask() -> list[Sequence[int]]:
        jobs = [asyncio.create_task(worker.ask(held.work, [number])) for number in range(3)]
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(asyncio.to_thread(worker.close))
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="closed"):
            await worker.ask(held.work, [9])
        held.go.set()
        await closing
        return await asyncio.gather(*jobs)

    assert asyncio.run(ask()) == [[0], [1], [2]]
