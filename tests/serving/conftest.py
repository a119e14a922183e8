"""Services that the tests of this room share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.process import ServiceProcess, serving


@pytest.fixture(scope="session")
def service(runs: Path) -> Iterator[ServiceProcess]:
    """With all kinds of models, and the usual limits."""
    options = [
        *("--other-model", str(runs / "sentiment-transformer")),
        *("--translation", str(runs / "translation-tree-transformer")),
    ]
    with serving(*options) as service:
        yield service


@pytest.fixture(scope="session")
def narrow() -> Iterator[ServiceProcess]:
    """With a token, which its client sends, and limits that are soon met."""
    limits = {"characters": 250, "inputs": 3, "sentences": 2, "words": 12, "body": 2000, "waiting": 2}
    options = [text for name, value in limits.items() for text in (f"--{name}", str(value))]
    with serving(*options, "--token", "secret") as service:
        service.client.headers["Authorization"] = "Bearer secret"
        yield service
