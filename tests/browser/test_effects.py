"""The switch between the labels of phrases and their effects on the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browser.conftest import SCREENSHOTS
from tests.browser.page import Page
from tests.browser.test_access import serious
from tests.serving.process import ServiceProcess, serving

MIXED = "Although the zip is flimsy, the lining is excellent."


@pytest.fixture(scope="module")
def not_taught(runs: Path) -> Iterator[ServiceProcess]:
    """A service whose model has seen labels of whole texts alone."""
    with serving(
        "--model", str(runs / "sentiment-transformer"), "--costly", "6", "--processes", "1"
    ) as service:
        yield service


def test_the_switch_shows_effects_and_labels(page: Page) -> None:
    page.open(MIXED)
    assert page.one("#show").get_attribute("value") == "label"
    page.choose("#show", "effect of the phrase")
    page.wait(lambda driver: page.all(".legend") and page.script_busy() == "false")
    assert page.one(".legend").text.startswith("Colours: the class that a phrase speaks for")
    assert (
        page.part("word flimsy").get_attribute("aria-label").startswith("word flimsy, JJ; very negative: +")
    )
    assert (
        page.part("word excellent")
        .get_attribute("aria-label")
        .startswith("word excellent, JJ; very positive: +")
    )
    red, green = page.colour("word flimsy"), page.colour("word excellent")
    assert red != green
    assert page.colour("word zip") == "transparent"
    page.hover(page.part("word flimsy"))
    page.wait(lambda driver: "Speaks for very negative: +" in page.one("#tooltip").text)
    assert "Without it: positive" in page.one("#tooltip").text
    page.screenshot("effects")
    page.driver.refresh()
    page.wait_until_read()
    assert page.colour("word flimsy") == red
    page.choose("#show", "label of the phrase")
    page.wait(lambda driver: not page.all(".legend") and page.script_busy() == "false")
    assert page.part("word zip").get_attribute("aria-label").startswith("word zip, NN; neutral ")
    assert page.problems() == []


def test_the_effect_of_a_selected_phrase_stands_beside_its_attention(page: Page) -> None:
    page.open(MIXED, show="effect", compare="shape balanced")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    page.select("SBAR:")
    assert page.one("#details .effect").text.startswith("Speaks for negative: +")
    assert serious(page) == []


def test_effects_are_usual_where_phrases_were_not_taught(
    chromium: webdriver.Chrome, not_taught: ServiceProcess
) -> None:
    page = Page(chromium, not_taught.address, SCREENSHOTS)
    page.open("A dull film.")
    assert page.one("#show").get_attribute("value") == "effect"
    assert page.one(".legend").text.startswith("Colours: the class that a phrase speaks for")
    page.choose("#show", "label of the phrase")
    page.wait(lambda driver: "show=label" in page.driver.current_url and page.script_busy() == "false")
    assert "log-odds" not in page.part("word dull").get_attribute("aria-label")
    page.open("A dull and very long film that never ends.", show="effect")
    assert page.one(".legend").text == "Effects are shown for texts of up to 6 words."
    assert all("422" in problem for problem in page.problems())  # it was refused effects, and asked without
