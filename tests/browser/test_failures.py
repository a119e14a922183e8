"""A sentence that the parser failed on is marked on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browser.conftest import SCREENSHOTS
from tests.browser.page import Page
from tests.serving.failing_parser import serving_with_failing_parser
from tests.serving.process import ServiceProcess

WARNING = "⚠ The parser failed on “A bad film .” (it says bad). Its tree is flat."


@pytest.fixture(scope="module")
def failing(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with serving_with_failing_parser(runs, tmp_path_factory.mktemp("runs")) as service:
        yield service


@pytest.mark.parametrize("task", ["sentiment", "translation"])
def test_a_failure_of_the_parser_is_shown(
    chromium: webdriver.Chrome, failing: ServiceProcess, task: str
) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page = Page(chromium, failing.address, SCREENSHOTS)
    page.open("It is good. A bad film.", task=task)
    assert [warning.text for warning in page.all(".failure")] == [WARNING]
    page.screenshot(f"failure-{task}")
    page.open("It is good.", task=task)
    assert page.all(".failure") == []
    assert page.problems() == []
