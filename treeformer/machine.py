"""The machine: choice of a device, and the versions that results depend on."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import torch

import treeformer


def chosen_device(device: str | None) -> torch.device:
    """The device ``cpu`` or ``cuda``; by default a GPU where there is one."""
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device: expected cpu or cuda, got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: this machine has no CUDA device, expected cpu")
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def machine(device: torch.device) -> dict[str, Any]:
    """Device and versions of packages, as facts about a run."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {package: metadata.version(package) for package in ("transformers", "accelerate")}
    return {
        "device": f"{device.type} ({name})",
        "versions": {
            "treeformer": treeformer.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **versions,
        },
    }
