"""The sentiment models of the package, and which of them answers on this machine."""

from __future__ import annotations

from pathlib import Path

from treeformer.encoders import installed
from treeformer.encoders.installation import chosen_folder, install_command

_MODELS = Path(__file__).parent / "models"
_ENCODER = "bge-small"

SHIPPED = _MODELS / "sst"  #: the small model, which needs nothing else
SHIPPED_OVER_ENCODER = _MODELS / f"sst-{_ENCODER}"  #: the better one, which reads words through an encoder


def default_model() -> Path:
    """The folder of the best sentiment model of the package that can answer on this machine."""
    return SHIPPED_OVER_ENCODER if _ENCODER in installed() else SHIPPED


def advice() -> str | None:
    """How to get the better sentiment model, in one line; None if its encoder is installed."""
    if default_model() == SHIPPED_OVER_ENCODER:
        return None
    command = install_command(_ENCODER, chosen_folder())
    return f"the small sentiment model answers; for a far better one run `{command}` (133 MB)"
