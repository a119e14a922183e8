"""CoreNLP beside the embedded parser on the page; `make test-java` installs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browser.conftest import SCREENSHOTS
from tests.browser.page import Page
from tests.serving.process import ServiceProcess, serving

CORENLP = Path(os.environ.get("CORENLP_HOME") or ".cache/corenlp").resolve()


@pytest.fixture
def with_corenlp() -> Iterator[ServiceProcess]:
    with serving("--seconds", "90", environment={"CORENLP_HOME": str(CORENLP)}) as service:
        service.ask("parse", inputs=["It is loaded now."], parser="corenlp")
        yield service


@pytest.mark.skipif(
    not CORENLP.is_dir() and "CI" not in os.environ, reason="needs CoreNLP, see make test-java"
)
def test_two_parsers_stand_side_by_side(chromium: webdriver.Chrome, with_corenlp: ServiceProcess) -> None:
    page = Page(chromium, with_corenlp.address, SCREENSHOTS)
    page.open("I saw the man with the telescope on the hill.")
    page.choose("#compare", "the parser CoreNLP")
    page.wait(lambda driver: len(page.all(".pane")) == 2 and page.script_busy() == "false")
    assert [title.text for title in page.all(".pane h2")] == ["Original", "Parsed by CoreNLP"]
    words = [
        [word.text for word in pane.find_elements("css selector", ".word")] for pane in page.all(".pane")
    ]
    assert words[0] == words[1]
    assert len(page.all(".verdict")) == 2
    page.select("word telescope", pane=1)
    page.screenshot("corenlp")
    address = page.driver.current_url
    assert "compare=parser+corenlp" in address
    assert page.problems() == []
