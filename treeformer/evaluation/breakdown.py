"""Examples in groups, so that one can see where a system is good."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

_STEP = 10


def tens(length: int) -> tuple[int, int]:
    """The first and last length of the ten that a length belongs to: 1 to 10, 11 to 20, and so on."""
    last = max(1, -(-length // _STEP)) * _STEP
    return last - _STEP + 1, last


def by_length(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Numbers of examples by their length in tens, short ones first.

    >>> by_length([3, 12, 10])
    {'1-10': [0, 2], '11-20': [1]}
    """
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, length in enumerate(lengths):
        groups[tens(length)].append(number)
    return {f"{first}-{last}": groups[first, last] for first, last in sorted(groups)}


def by_group(groups: Sequence[int]) -> dict[str, list[int]]:
    """Numbers of examples by their group; nothing if all are in one.

    >>> by_group([1, 0, 1]), by_group([0, 0])
    ({'0': [1], '1': [0, 2]}, {})
    """
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        found[group].append(number)
    return {str(group): found[group] for group in sorted(found)} if len(found) > 1 else {}
