"""German and French are read with their parsers, and what no parser reads is said."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.page import Page
from tests.serving.process import TEXT

GERMAN = "Das ist ein sehr schöner Film."


def labels(page: Page) -> set[str]:
    return {part.get_attribute("aria-label").split(":")[0] for part in page.all(".node-part")}


def read(page: Page, text: str) -> None:
    page.driver.execute_script("document.getElementById('text').value = arguments[0]", text)
    page.one("#text").send_keys(Keys.ENTER)
    page.wait(lambda driver: page.script_busy() == "false")


@pytest.mark.parametrize(
    ("text", "name", "tag"),
    [(GERMAN, "German", "word Film, NOUN"), ("C'est un très bon film.", "French", "word film, NOUN")],
)
def test_another_language_is_read_with_its_parser(page: Page, text: str, name: str, tag: str) -> None:
    page.open(text)
    assert page.part(tag)  # the English parser would say NN
    assert page.one("#language option").text == f"automatic: {name}"
    assert page.one("#notice").text.startswith(f"This is {name}, but the model was trained on English")
    assert page.one("#status").text == f"read as {name}"
    assert page.all(".verdict, .head .bars") == []  # what the model answers would be believed
    assert {pill.get_attribute("fill") for pill in page.all(".pill")} == {"transparent"}
    page.screenshot(f"language-{name}")
    page.click("#notice button")
    page.wait(lambda driver: page.all(".verdict"))
    assert page.part(tag)
    assert page.problems() == []


@pytest.mark.parametrize(
    ("text", "name"),
    [("这部电影很好看。", "Chinese"), ("هذا فيلم رائع", "Arabic"), ("Это отличный фильм.", "Russian")],
)
def test_a_language_without_a_parser_is_not_read(page: Page, text: str, name: str) -> None:
    page.open()
    read(page, text)
    page.wait(lambda driver: page.one("#notice").is_displayed())
    notice = page.one("#notice").text
    assert notice.startswith(
        f"This looks like {name}. There are parsers for English, German, and French only."
    )
    assert page.all(".pane") == []
    page.screenshot(f"language-{name}")
    read(page, TEXT)
    page.wait(lambda driver: page.all(".verdict"))
    assert not page.one("#notice").is_displayed()


def test_the_menu_decides_and_is_in_the_address(page: Page) -> None:
    page.open(GERMAN)
    page.choose("#language", "English")
    page.wait(lambda driver: page.all(".verdict"))
    assert not page.one("#notice").is_displayed()
    assert "language=en" in page.driver.current_url
    page.driver.refresh()
    page.wait(lambda driver: page.all(".verdict"))
    assert page.one("#language").get_attribute("value") == "en"


def test_a_tree_needs_no_language(page: Page) -> None:
    page.open("(NP (DT Der) (NN Film))")
    assert page.all(".verdict")
    assert not page.one("#notice").is_displayed()


def test_a_translation_of_another_language_is_not_shown(page: Page) -> None:
    page.open("the great story", task="translation")
    page.one("#text").clear()
    read(page, GERMAN)
    page.wait(lambda driver: page.one("#notice").is_displayed())
    assert "This is German, but the model was trained on English" in page.one("#notice").text
    assert not page.one("#translation").is_displayed()
    page.click("#notice button")
    page.wait(lambda driver: page.one("#translation").is_displayed())


def test_each_tree_names_its_model_and_what_it_was_trained_on(page: Page) -> None:
    page.open("the great story", compare="model other")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    first, second = (line.text for line in page.all(".pane .model"))
    assert first.startswith(
        "Model: sentiment model sst (tree-transformer), trained on the training part of the"
    )
    assert "film reviews" in first
    assert second == "Model: sentiment-composed (composed-tree-transformer), trained on train.txt."
