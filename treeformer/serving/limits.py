"""Limits of the service, and the error of a request that is refused."""

from __future__ import annotations

from dataclasses import dataclass, fields

DAY = 86_400  #: seconds


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    characters: maximum number of characters in a text or tree.
    inputs: maximum number of texts or trees in a request.
    sentences: maximum number of sentences in a text.
    words: maximum number of words in a text. Four times as many nodes and twice as many pieces are allowed.
    costly: maximum number of words in a text to translate, or whose attention is asked for.
    body: maximum number of bytes in the body of a request.
    waiting: maximum number of requests in progress; more are refused.
    seconds: maximum time for the body to arrive, and then for the answer.
    batch: maximum number of texts that a model reads together.
    window: seconds that the first request of a batch waits for others.
    """

    characters: int = 8_000
    inputs: int = 32
    sentences: int = 40
    words: int = 400
    costly: int = 160
    body: int = 1 << 20
    waiting: int = 128
    seconds: float = 30.0
    batch: int = 24
    window: float = 0.003

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name}: expected more than 0, got {value}")
        if self.seconds > DAY:
            raise ValueError(f"seconds: expected at most {DAY}, got {self.seconds}")


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
