"""Limits of the service, and the error of a request that is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

DAY = 86_400  #: seconds


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    characters: maximum number of characters in a text or tree.
    inputs: maximum number of texts or trees in a request.
    sentences: maximum number of sentences in a text.
    words: maximum number of words in a text. Four times as many nodes and twice as many pieces are allowed.
    costly: maximum number of words in a text to translate, or whose effects or attention are asked for.
    body: maximum number of bytes in the body of a request.
    answer: maximum number of bytes in an answer.
    waiting: maximum number of requests in progress; more are refused.
    share: maximum number of requests in progress of one peer, by default half of ``waiting``.
    connections: maximum number of open connections; the peer with the most loses one.
    head: maximum number of bytes in the head of a request.
    fields: maximum number of fields in the head of a request.
    head_seconds: maximum time for the head of a request to arrive, if ``seconds`` is not less.
    seconds: maximum time for the body to arrive, then for the answer, and then for the client to take it.
    batch: maximum number of texts that a model reads together.
    window: seconds that the first request of a batch waits for others.
    """

    characters: int = 8_000
    inputs: int = 32
    sentences: int = 40
    words: int = 400
    costly: int = 160
    body: int = 1 << 20
    answer: int = 8 << 20
    waiting: int = 128
    share: int = 0
    connections: int = 1000
    head: int = 32 << 10
    fields: int = 100
    head_seconds: float = 10.0
    seconds: float = 30.0
    batch: int = 24
    window: float = 0.003

    def __post_init__(self) -> None:
        if self.share == 0:
            object.__setattr__(self, "share", -(-self.waiting // 2))
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name}: expected more than 0, got {value}")
        if self.seconds > DAY:
            raise ValueError(f"seconds: expected at most {DAY}, got {self.seconds}")


@dataclass(frozen=True)
class Deadline:
    """The end of the time for some work, or of the interest in it.

    time: a time of `time.monotonic`.
    abandoned: whether nobody waits for the work any more.
    """

    time: float
    abandoned: Callable[[], bool] = lambda: False

    @classmethod
    def after(cls, seconds: float, abandoned: Callable[[], bool] = lambda: False) -> Deadline:
        """The deadline that many seconds from now."""
        return cls(time.monotonic() + seconds, abandoned)

    def seconds(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.time - time.monotonic())

    def check(self) -> None:
        """Raise TimeoutError if there is no time left, or nobody waits."""
        if time.monotonic() > self.time or self.abandoned():
            raise TimeoutError


class RefusedError(Exception):
    """A request that is refused.

    Args:
        status: HTTP status of the response.
        message: what is wrong, where, and what is expected.
        limit: name of the limit that was exceeded, if any.
    """

    def __init__(self, status: int, message: str, limit: str | None = None) -> None:
        super().__init__(status, message, limit)  # all of them, so that the error can be pickled
        self.status = status
        self.message = message
        self.limit = limit

    def __str__(self) -> str:
        return self.message


def invalid(message: str, limit: str | None = None) -> RefusedError:
    """The refusal of a request that will never be answered."""
    return RefusedError(422, message, limit)


def unavailable(message: str, limit: str | None = None) -> RefusedError:
    """The refusal of a request that may be answered later."""
    return RefusedError(503, message, limit)
