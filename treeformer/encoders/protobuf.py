"""Fields of protocol buffers, read without their schema."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5  #: the wire types in use


class Message:
    """The fields of one serialised message, by number, in the order of the bytes.

    Args:
        content: the bytes of the message. Nothing is copied.
        name: what the message is, for errors.

    >>> Message(bytes([8, 150, 1, 18, 2, 104, 105]), "example").integers(1)
    [150]
    """

    def __init__(self, content: bytes | memoryview, name: str) -> None:
        self.name = name
        self._fields: dict[int, list[int | memoryview]] = {}
        try:
            for number, value in _fields(memoryview(content)):
                self._fields.setdefault(number, []).append(value)
        except IndexError:
            raise ValueError(f"{name}: the message is cut off or damaged") from None

    def integers(self, number: int) -> list[int]:
        """All values of a field of integers, packed or not."""
        values: list[int] = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                values.append(value)
                continue
            position = 0
            while position < len(value):
                packed, position = varint(value, position)
                values.append(packed)
        return values

    def integer(self, number: int, default: int = 0) -> int:
        """The last value of a field of integers."""
        values = self.integers(number)
        return values[-1] if values else default

    def parts(self, number: int) -> list[memoryview]:
        """All values of a field of bytes, texts or messages."""
        return [value for value in self._fields.get(number, []) if isinstance(value, memoryview)]

    def part(self, number: int) -> memoryview:
        """The last value of such a field, empty if there is none."""
        values = self.parts(number)
        return values[-1] if values else memoryview(b"")

    def texts(self, number: int) -> list[str]:
        """All values of a field of texts."""
        return [bytes(value).decode("utf-8", "replace") for value in self.parts(number)]

    def text(self, number: int) -> str:
        """The last value of a field of texts, empty if there is none."""
        return bytes(self.part(number)).decode("utf-8", "replace")

    def has(self, number: int) -> bool:
        """Whether the field has a value."""
        return number in self._fields


def varint(content: memoryview, position: int) -> tuple[int, int]:
    """The integer at ``position`` and the position after it; IndexError where the bytes end before."""
    value = shift = 0
    while shift < 70:
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise IndexError("an integer of more than ten bytes")


def _fields(content: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field; IndexError where the bytes end before a value does."""
    position = 0
    value: int | memoryview
    while position < len(content):
        key, position = varint(content, position)
        kind = key & 7
        if kind == VARINT:
            value, position = varint(content, position)
        else:
            if kind == LENGTH:
                size, position = varint(content, position)
            elif kind in (FIXED32, FIXED64):
                size = 4 if kind == FIXED32 else 8
            else:
                raise IndexError(f"a field of unknown kind {kind}")
            if position + size > len(content):
                raise IndexError("a field longer than its message")
            value = content[position : position + size]
            position += size
        yield key >> 3, value
