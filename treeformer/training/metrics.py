"""Metrics of a run: what is measured between two log lines, and the file ``metrics.jsonl``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from treeformer.storage import keep_lines
from treeformer.training.processes import Processes
from treeformer.training.updates import Totals

_MASKS = ("attention_mask", "node_mask")


class Throughput:
    """Counts leaves and nodes, time, and time spent waiting for data."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._restart()

    def _restart(self) -> None:
        self._start = time.perf_counter()
        self._waiting = 0.0
        self._tokens = 0

    def next_shards(self, updates: Iterator[list[dict[str, Tensor]]]) -> list[dict[str, Tensor]]:
        """The shards of the next update, counted and timed."""
        start = time.perf_counter()
        shards = next(updates)
        self._waiting += time.perf_counter() - start
        masks = [shard[name] for shard in shards for name in _MASKS if name in shard]
        self._tokens += sum(int(mask.sum()) for mask in masks)
        return shards

    def line(self, step: int, epoch: int, rate: float, totals: Totals) -> dict[str, Any]:
        """Metrics since the last line; the last three entries are times and differ from run to run."""
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


class MetricsFile:
    """``metrics.jsonl`` of a run, one JSON object per line.

    Args:
        folder: the run folder.
        step: the update after which training resumes; lines of later updates are cut off.
        tensorboard: write the numbers for TensorBoard, too.
        enabled: write at all.
    """

    def __init__(self, folder: Path, step: int, *, tensorboard: bool, enabled: bool) -> None:
        self._path = folder / "metrics.jsonl"
        self._enabled = enabled
        if enabled:
            keep_lines(self._path, lambda line: _is_before(line, step))
        self._board = _tensorboard_writer(folder, step) if tensorboard and enabled else None

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a line."""
        if not self._enabled:
            return
        try:
            with open(self._path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(line, allow_nan=False) + "\n")
        except OSError as error:
            raise OSError(f"{self._path}: could not be written ({error.strerror or error})") from error
        if self._board is not None:
            for name, value in line.items():
                if name != "step":
                    self._board.add_scalar(name, value, line["step"])
            self._board.flush()


def _is_before(line: bytes, step: int) -> bool:
    """Whether a run that resumes after update ``step`` will not write this line again."""
    try:
        metrics = json.loads(line)
        return bool(metrics["step"] <= step) and "averaged" not in metrics
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _tensorboard_writer(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ValueError(
            "training.tensorboard: TensorBoard is not installed; pip install '.[tensorboard]' in the clone"
        ) from error
    return SummaryWriter(folder / "tensorboard", purge_step=step + 1)
