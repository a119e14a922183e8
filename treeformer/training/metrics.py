"""``metrics.jsonl``: a line for each measurement of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from treeformer.storage import keep_lines

Line = Mapping[str, Any]


def metric_writer(folder: Path, step: int, *, tensorboard: bool, first: bool) -> Callable[[Line], None]:
    """A function that adds a line to ``metrics.jsonl``; what is there of later updates is cut off.

    Args:
        folder: the run.
        step: after which update it goes on.
        tensorboard: write the numbers for TensorBoard, too.
        first: whether this process writes at all.
    """
    if not first:
        return lambda line: None
    path = folder / "metrics.jsonl"
    keep_lines(path, lambda line: _belongs(line, step))
    board = _board(folder, step) if tensorboard else None

    def add(line: Line) -> None:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        if board is not None:
            for name, value in line.items():
                if name != "step":
                    board.add_scalar(name, value, line["step"])
            board.flush()

    return add


def _belongs(line: bytes, step: int) -> bool:
    """Whether a run that goes on after update ``step`` would not write this line again."""
    try:
        known = json.loads(line)
        return known["step"] <= step and "averaged" not in known
    except (ValueError, KeyError, TypeError):
        return False


def _board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ValueError(
            "training.tensorboard: TensorBoard is not installed; pip install 'treeformer[tensorboard]'"
        ) from error
    return SummaryWriter(folder / "tensorboard", purge_step=step + 1)
