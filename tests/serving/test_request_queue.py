"""Requests that arrive together are answered together, each with its answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from treeformer.serving.request_queue import RequestQueue


class Doubling:
    """Doubles numbers, and records the sizes of batches; 13 breaks it."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def ready(self) -> None: ...

    def abandon(self) -> None: ...

    def __call__(self, requests: Sequence[int], seconds: float) -> Sequence[Any]:
        self.sizes.append(len(requests))
        if 13 in requests:
            raise RuntimeError("broken")
        return [ValueError(str(number)) if number < 0 else 2 * number for number in requests]


class Held(Doubling):
    """Waits until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.done: list[int] = []
        self.abandoned = 0

    def abandon(self) -> None:
        self.abandoned += 1

    def __call__(self, requests: Sequence[int], seconds: float) -> Sequence[Any]:
        self.go.wait(10)
        self.done += requests
        return requests


class Meeting(Doubling):
    """Works when two workers have a batch."""

    both = threading.Barrier(2, timeout=10)

    def __call__(self, requests: Sequence[int], seconds: float) -> Sequence[Any]:
        self.both.wait()
        return super().__call__(requests, seconds)


class Late(Doubling):
    """Is ready at the second attempt."""

    def ready(self) -> None:
        if not self.sizes:
            self.sizes.append(0)
            raise ValueError("not yet")


def started(*workers: Doubling, batch: int = 8, sizes: list[int] | None = None) -> RequestQueue:
    record = (lambda size: None) if sizes is None else sizes.append
    return RequestQueue("test", workers, batch=batch, window=0.02, record_batch=record)


async def ask(
    queue: RequestQueue,
    number: int,
    *,
    key: str = "",
    size: int = 1,
    seconds: float = 20,
    cost: int = 1,
    peer: str = "",
) -> Any:
    return await queue.ask(key, number, size=size, seconds=seconds, cost=cost, peer=peer)


def test_requests_that_arrive_together_are_one_batch() -> None:
    worker, sizes = Doubling(), list[int]()
    queue = started(worker, sizes=sizes)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number, size=2 if number else 1) for number in range(4)))

    assert asyncio.run(together()) == [0, 2, 4, 6]
    queue.close(20)
    assert worker.sizes == [4]
    assert sizes == [7]


def test_requests_with_another_key_are_another_batch() -> None:
    worker = Doubling()
    queue = started(worker)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number, key="ab"[number % 2]) for number in range(6)))

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


def test_every_free_worker_takes_a_share() -> None:
    workers = [Meeting(), Meeting()]
    queue = started(*workers)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(queue, number) for number in range(8)))

    assert asyncio.run(together()) == [2 * number for number in range(8)]
    queue.close(20)
    assert [worker.sizes for worker in workers] == [[4], [4]]


def test_one_bad_request_spoils_no_other() -> None:
    queue = started(Doubling())

    async def together() -> list[object]:
        requests = [ask(queue, 1), ask(queue, -1), ask(queue, 13), ask(queue, 3)]
        return await asyncio.gather(*requests, return_exceptions=True)

    good, bad, broken, whole = asyncio.run(together())
    queue.close(20)
    assert good == 2
    assert isinstance(bad, ValueError)
    assert isinstance(broken, RuntimeError)
    assert whole == 6


def test_a_request_that_nobody_waits_for_is_not_started() -> None:
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


def test_closing_answers_the_accepted_requests() -> None:
    held = Held()
    queue = started(held, batch=1)

    async def close_early() -> list[int]:
        requests = [asyncio.create_task(ask(queue, number)) for number in range(3)]
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(asyncio.to_thread(queue.close, 20))
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="closed"):
            await ask(queue, 9)
        held.go.set()
        await closing
        return await asyncio.gather(*requests)

    assert asyncio.run(close_early()) == [0, 1, 2]


def test_requests_wait_until_a_worker_is_ready(caplog: pytest.LogCaptureFixture) -> None:
    queue = started(Late())
    assert asyncio.run(ask(queue, 4)) == 8
    queue.close(20)
    assert "not yet" in caplog.text


def test_closing_abandons_a_worker_that_takes_too_long() -> None:
    held = Held()
    queue = started(held)

    async def close_meanwhile() -> None:
        request = asyncio.create_task(ask(queue, 1))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(queue.close, 0.1)
        assert not held.done
        held.go.set()
        assert await request == 1

    asyncio.run(close_meanwhile())


def test_a_request_that_nobody_waits_for_leaves_the_queue_without_workers() -> None:
    queue = RequestQueue("test", [], batch=8, window=0.02, record_batch=lambda size: None)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await ask(queue, 1, seconds=0.05)

    asyncio.run(give_up())
    assert not queue._queued


def test_small_requests_of_one_peer_do_not_wait_for_many_large_ones_of_another() -> None:
    held = Held()
    queue = started(held, batch=1)

    async def together() -> None:
        large = [asyncio.create_task(ask(queue, number, cost=100, peer="a")) for number in range(4)]
        await asyncio.sleep(0.1)
        small = [asyncio.create_task(ask(queue, number, cost=1, peer="b")) for number in range(10, 20)]
        await asyncio.sleep(0.1)
        held.go.set()
        await asyncio.gather(*large, *small)

    asyncio.run(together())
    queue.close(20)
    assert held.done == [0, *range(10, 20), 1, 2, 3]


def test_a_small_request_is_not_in_a_batch_with_many_large_ones() -> None:
    worker = Doubling()
    queue = started(worker)

    async def together() -> None:
        await asyncio.gather(ask(queue, 0), *(ask(queue, number, cost=9000) for number in range(1, 5)))

    asyncio.run(together())
    queue.close(20)
    assert max(worker.sizes) == 2


def test_a_batch_that_nobody_waits_for_is_abandoned() -> None:
    held = Held()
    queue = started(held)

    async def both_give_up() -> None:
        tasks = [asyncio.create_task(ask(queue, number)) for number in range(2)]
        await asyncio.sleep(0.2)
        tasks[0].cancel()
        await asyncio.wait(tasks, timeout=0.1)
        assert held.abandoned == 0
        tasks[1].cancel()
        await asyncio.wait(tasks)

    asyncio.run(both_give_up())
    assert held.abandoned == 1
    held.go.set()
    queue.close(20)
