"""How much one request may ask for, and how much all of them together."""

from __future__ import annotations

from dataclasses import dataclass, fields

DAY = 86_400  #: seconds


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    characters: of one text or tree.
    inputs: texts or trees of one request.
    sentences, words: of one text.
    costly: words of a text that is translated or whose attention is asked for; its pieces may be twice as
        many.
    body: bytes of a request.
    waiting: requests that are read, wait or are worked on at a time; more are refused.
    seconds: from the end of a request to its answer, and for the request to arrive.
    batch: texts that the model reads together; others are then under way, so that it never waits.
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
