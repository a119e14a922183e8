"""A service with all kinds of models, and a real Chromium to look at its page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browser.page import Page, open_chromium
from tests.serving.process import ServiceProcess, serving

SCREENSHOTS = Path(os.environ.get("CI_OUTPUT") or ".cache") / "screenshots"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that is here needs a browser."""
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def service(runs: Path, composed: Path) -> Iterator[ServiceProcess]:
    options = [
        *("--other-model", str(composed)),
        *("--translation", str(runs / "translation-tree-transformer")),
    ]
    with serving(*options) as service:
        yield service


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def chromium(downloads: Path) -> Iterator[webdriver.Chrome]:
    driver = open_chromium(downloads)
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium: webdriver.Chrome, service: ServiceProcess) -> Page:
    """The page, not loaded yet, in a window as on a desk."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return Page(chromium, service.address, SCREENSHOTS)
