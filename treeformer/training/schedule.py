"""How the learning rate goes over the updates."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["inverse-square-root", "cosine", "constant"]


def learning_rate(update: int, *, schedule: Schedule, peak: float, warm_up: int, updates: int) -> float:
    """The learning rate of an update, counted from 1.

    It rises in a straight line and reaches the peak at update ``warm_up``. Then it falls with the inverse
    square root of the update, with half a cosine to 0 after the last update, or it stays.

    >>> [
    ...     learning_rate(n, schedule="inverse-square-root", peak=1.0, warm_up=4, updates=99)
    ...     for n in (1, 4, 16)
    ... ]
    [0.25, 1.0, 0.5]
    """
    if update < warm_up:
        return peak * update / warm_up
    if schedule == "inverse-square-root":
        return peak * math.sqrt(max(warm_up, 1) / update)
    if schedule == "cosine":
        progress = (update - warm_up) / max(updates - warm_up, 1)
        return peak * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
    return peak
