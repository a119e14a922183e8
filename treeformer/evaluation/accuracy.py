"""Which answers of a classifier are right."""

from __future__ import annotations

from torch import Tensor


def right_classes(logits: Tensor, classes: Tensor) -> Tensor:
    """``[...]``, True where the most probable class of ``logits [..., classes]`` is the given one."""
    return logits.argmax(-1) == classes


def right_halves(logits: Tensor, classes: Tensor) -> Tensor:
    """``[...]``, True where ordered classes are on the right side of the middle one.

    An answer is above if the classes above the middle are together more probable than those below: with the
    five classes of SST, positive iff p3 + p4 > p0 + p1 (SST-2).
    """
    probabilities = logits.float().softmax(-1)
    half, count = logits.shape[-1] // 2, logits.shape[-1]
    above = probabilities[..., count - half :].sum(-1) > probabilities[..., :half].sum(-1)
    return above == (classes >= count - half)
