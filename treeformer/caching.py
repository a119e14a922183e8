"""A cache of a function of text that is bounded by bytes, not by entries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
BUDGET = 32 << 20  #: bytes
_ENTRY = 100  # bytes of a place in a dictionary


class TextCache(dict[str, Result]):
    """Results of a function of text, computed on first use: ``cache[text]``.

    When they take more than ``budget`` bytes, all are dropped. A result that takes more than a thousandth
    of the budget is not kept.

    Args:
        function: computes the result for a text.
        budget: largest number of bytes of texts and results.

    >>> lengths = TextCache(len)
    >>> lengths["four"], len(lengths)
    (4, 1)
    """

    def __init__(self, function: Callable[[str], Result], budget: int = BUDGET) -> None:
        super().__init__()
        self._function = function
        self._budget = budget
        self.bytes = 0

    def __missing__(self, text: str) -> Result:
        result = self._function(text)
        size = _ENTRY + sys.getsizeof(text) + _size(result)
        if size > self._budget // 1000:
            return result
        if self.bytes + size > self._budget:
            self.clear()
            self.bytes = 0
        self.bytes += size
        self[text] = result
        return result


def _size(value: object) -> int:
    """Bytes of a value and, if it is a tuple, of what it holds."""
    size = sys.getsizeof(value)
    return size + sum(map(_size, value)) if isinstance(value, tuple) else size
