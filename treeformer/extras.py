"""Packages of the extra ``torch``: models need them, trees and parsers do not."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

_PACKAGES = (
    "accelerate",
    "pyarrow",
    "sacrebleu",
    "sacremoses",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
)


def require(*packages: str) -> None:
    """Raise ``ModuleNotFoundError`` that names the extra if one of its packages is not installed."""
    for package in packages:
        if not _is_installed(package):
            raise ModuleNotFoundError(missing(package), name=package)


def missing(package: str | None) -> str | None:
    """The message for a package that could not be imported; None if the extra does not have it."""
    if package is None or (name := package.partition(".")[0]) not in _PACKAGES:
        return None
    return f"{name} is not installed; models need it: pip install '.[torch]' in the clone"


@cache
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None
