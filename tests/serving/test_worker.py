"""Questions that arrive together are answered together, each with its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from treeformer.serving.worker import Worker


class Doubling:
    """Hands that double numbers, and tell how many they were given at a time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def ready(self) -> None: ...

    def __call__(self, work: Any, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.sizes.append(len(asked))
        if work == "fragile" and -1 in asked:
            raise RuntimeError("broken")
        return [ValueError(str(number)) if number < 0 else 2 * number for number in asked]


class Held(Doubling):
    """Hands that wait until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.done: list[int] = []

    def __call__(self, work: Any, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.go.wait(10)
        self.done += asked
        return asked


class Meeting(Doubling):
    """Hands that go on when two of them have work."""

    both = threading.Barrier(2, timeout=10)

    def __call__(self, work: Any, asked: Sequence[int], seconds: float) -> Sequence[Any]:
        self.both.wait()
        return super().__call__(work, asked, seconds)


class Late(Doubling):
    """Hands that are ready only when they are asked for the second time."""

    def ready(self) -> None:
        if not self.sizes:
            self.sizes.append(0)
            raise ValueError("not yet")


def started(*hands: Doubling, batch: int = 8, sizes: list[int] | None = None) -> Worker:
    tell = (lambda size: None) if sizes is None else sizes.append
    worker = Worker("test", hands, batch=batch, window=0.02, tell=tell)
    worker.start()
    return worker


async def ask(worker: Worker, asked: int, work: str = "double", size: int = 1, seconds: float = 20) -> Any:
    return await worker.ask(work, asked, size=size, seconds=seconds)


def test_jobs_that_arrive_together_are_one_batch() -> None:
    hands, sizes = Doubling(), list[int]()
    worker = started(hands, sizes=sizes)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(worker, number, size=2 if number else 1) for number in range(4)))

    assert asyncio.run(together()) == [0, 2, 4, 6]
    worker.close()
    assert hands.sizes == [4]
    assert sizes == [7]


def test_a_batch_is_no_larger_than_its_limit() -> None:
    sizes: list[int] = []
    worker = started(Doubling(), batch=4, sizes=sizes)

    async def together() -> None:
        await asyncio.gather(*(ask(worker, 1, size=2) for _ in range(5)), ask(worker, 0, size=9))

    asyncio.run(together())
    worker.close()
    assert sorted(sizes) == [2, 4, 4, 9]


def test_whoever_is_free_takes_a_share() -> None:
    hands = [Meeting(), Meeting()]
    worker = started(*hands)

    async def together() -> list[int]:
        return await asyncio.gather(*(ask(worker, number) for number in range(8)))

    assert asyncio.run(together()) == [2 * number for number in range(8)]
    worker.close()
    assert [own.sizes for own in hands] == [[4], [4]]


def test_one_bad_question_spoils_no_other() -> None:
    worker = started(Doubling())

    async def together() -> list[object]:
        jobs = [ask(worker, 1), ask(worker, -1), ask(worker, -1, "fragile"), ask(worker, 3, "fragile")]
        return await asyncio.gather(*jobs, return_exceptions=True)

    good, bad, broken, whole = asyncio.run(together())
    worker.close()
    assert good == 2
    assert isinstance(bad, ValueError)
    assert isinstance(broken, RuntimeError)
    assert whole == 6


def test_what_nobody_waits_for_is_not_begun() -> None:
    held = Held()
    worker = started(held, batch=1)

    async def one_gives_up() -> None:
        first = asyncio.create_task(ask(worker, 1))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            await ask(worker, 2, seconds=0.05)
        held.go.set()
        await first
        await ask(worker, 3)

    asyncio.run(one_gives_up())
    worker.close()
    assert held.done == [1, 3]


def test_closing_finishes_what_was_accepted() -> None:
    held = Held()
    worker = started(held, batch=1)

    async def close_early() -> list[int]:
        jobs = [asyncio.create_task(ask(worker, number)) for number in range(3)]
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(asyncio.to_thread(worker.close))
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="closed"):
            await ask(worker, 9)
        held.go.set()
        await closing
        return await asyncio.gather(*jobs)

    assert asyncio.run(close_early()) == [0, 1, 2]


def test_jobs_wait_until_hands_are_ready(caplog: pytest.LogCaptureFixture) -> None:
    worker = started(Late())
    assert asyncio.run(ask(worker, 4)) == 8
    worker.close()
    assert "not yet" in caplog.text
