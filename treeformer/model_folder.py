"""Reading the folders of transformers models: safetensors only, and without progress bars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def refuse_pickles(folder: Path) -> None:
    """Refuse an index of weight files that names anything but safetensors files."""
    for index in folder.glob("*.index.json"):
        named = set(json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values())
        others = sorted(name for name in named if not name.endswith(".safetensors"))
        if others:
            raise ValueError(f"{index}: expected safetensors files, got {', '.join(others)}")


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Hide the progress bars of transformers: reading a file takes a moment."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
