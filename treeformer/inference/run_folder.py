"""What the folder of a run must hold, checked before torch is loaded."""

from __future__ import annotations

from pathlib import Path

from treeformer.data.processor import PROCESSOR

_NEEDED = ("config.json", PROCESSOR)


def check_run_folder(folder: Path) -> None:
    """Raise ``ValueError`` that says what a folder lacks to be a run."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder, expected a run of treeformer train")
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder}: no {missing[0]} there, expected a run of treeformer train")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(
            f"{folder}: no model there yet, training has not yet been evaluated on dev or finished"
        )
