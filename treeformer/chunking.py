"""Lists cut into runs of consecutive items: under a budget, or of given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

Item = TypeVar("Item")


def split_by_total(
    items: Iterable[Item], size: Callable[[Item], int], *, budget: int, most: int | None = None
) -> Iterator[list[Item]]:
    """Chunks whose sizes add up to at most ``budget``; a larger item gets a separate chunk.

    Args:
        items: the items, in their order; a chunk is yielded as soon as it is full.
        size: function that returns the size of one item.
        budget: largest sum of sizes.
        most: largest number of items in a chunk; None for any.

    >>> list(split_by_total([3, 4, 9, 1, 1, 1], int, budget=7, most=2))
    [[3, 4], [9], [1, 1], [1]]
    """
    chunk: list[Item] = []
    total = 0
    for item in items:
        item_size = size(item)
        if chunk and total + item_size > budget:
            yield chunk
            chunk, total = [], 0
        chunk.append(item)
        total += item_size
        if total >= budget or len(chunk) == most:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def split_by_padding(
    items: Iterable[Item], size: Callable[[Item], int], *, budget: int, most: int | None = None
) -> Iterator[list[Item]]:
    """Chunks of at most ``budget`` cells when each item is padded to the largest of its chunk.

    Sort the items by size first, so that little is padding. A larger item gets a separate chunk.

    Args:
        items: the items, in their order.
        size: function that returns the size of one item.
        budget: largest number of items times largest size.
        most: largest number of items in a chunk; None for any.

    >>> list(split_by_padding([9, 3, 3, 2, 1], int, budget=9))
    [[9], [3, 3, 2], [1]]
    """
    chunk: list[Item] = []
    width = 0
    for item in items:
        wider = max(width, size(item))
        if chunk and ((len(chunk) + 1) * wider > budget or len(chunk) == most):
            yield chunk
            chunk, wider = [], size(item)
        chunk.append(item)
        width = wider
    if chunk:
        yield chunk


def split_by_sizes(items: Sequence[Item], sizes: Iterable[int]) -> list[list[Item]]:
    """Consecutive runs of the given sizes, which add up to the number of items.

    >>> split_by_sizes([1, 2, 3, 4], [3, 0, 1])
    [[1, 2, 3], [], [4]]
    """
    return [list(items[start:end]) for start, end in pairwise(accumulate(sizes, initial=0))]
