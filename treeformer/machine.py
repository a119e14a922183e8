"""Where numbers were measured."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import torch

import treeformer


def machine(device: torch.device) -> dict[str, Any]:
    """Device and versions that a run depends on."""
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
