"""What is measured between two lines of metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch

from treeformer.training.experiment import Parts
from treeformer.training.processes import Processes
from treeformer.training.updates import Totals

_MASKS = ("attention_mask", "node_mask")


class Meters:
    """Counts leaves and nodes, and the time that goes by and that is spent waiting for data."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._restart()

    def _restart(self) -> None:
        self._start = time.perf_counter()
        self._waiting = 0.0
        self._tokens = 0

    def wait_for(self, updates: Iterator[Parts]) -> Parts:
        """The next update."""
        start = time.perf_counter()
        parts = next(updates)
        self._waiting += time.perf_counter() - start
        for part in parts:
            self._tokens += sum(int(part[name].sum()) for name in _MASKS if name in part)
        return parts

    def line(self, step: int, epoch: int, rate: float, totals: Totals) -> dict[str, Any]:
        """A line of metrics since the last one; all but its last three entries are the same in each run."""
        seconds = max(time.perf_counter() - self._start, 1e-9)
        tokens = torch.tensor([float(self._tokens)], device=self._processes.device)
        line = {
            "step": step,
            "epoch": epoch,
            "loss": totals.loss / max(totals.targets, 1),
            "gradient_norm": totals.norm / totals.updates,
            "learning_rate": rate,
            "tokens_per_second": round(self._processes.sum(tokens).item() / seconds, 1),
            "updates_per_second": round(totals.updates / seconds, 2),
            "waiting": round(self._waiting / seconds, 4),
        }
        self._restart()
        return line
