"""How close two results are."""

from __future__ import annotations

from torch import Tensor


def difference(found: Tensor, expected: Tensor) -> float:
    """The norm of the difference as a part of the norm of what is expected: about 1e-7 for float32."""
    return ((found - expected).norm() / expected.norm()).item()
