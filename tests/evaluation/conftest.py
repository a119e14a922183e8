"""EVALB for the tests that compare with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.evaluation.evalb import Evalb, MissingError, build


@pytest.fixture(scope="session")
def evalb(pytestconfig: pytest.Config) -> Evalb:
    """The C program, built once in a folder that git ignores; without it tests skip, or fail in CI."""
    try:
        return build(Path(pytestconfig.rootpath, ".cache", "evalb"))
    except MissingError as error:
        if os.environ.get("CI"):
            pytest.fail(f"EVALB is needed in CI: {error}")
        pytest.skip(f"no EVALB: {error}")
