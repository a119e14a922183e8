"""The page explains its own words, with the pointer and with the keyboard."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.page import Page
from tests.serving.process import TEXT
from treeformer.parsing.description import read_parser
from treeformer.parsing.loading import MODELS


def tooltip(page: Page, expected: str) -> str:
    """The text of the tooltip, as soon as it has what is expected."""
    box = page.one("#tooltip")
    page.wait(lambda driver: box.is_displayed() and expected in box.text, f"no tooltip has {expected!r}")
    return box.text


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        (TEXT, "NP:", "NP: noun phrase."),
        (
            TEXT,
            "@NP: gorgeous",
            "@NP: part of NP (noun phrase). The model reads trees whose phrases",
        ),
        (TEXT, "word gorgeous", "JJ: adjective."),
        (TEXT, "word ,", ",: punctuation."),
        ("It works. It ends.", "DOC", "DOC: the whole text, above its sentences."),
    ],
)
def test_a_label_says_what_it_means(page: Page, text: str, part: str, expected: str) -> None:
    page.open(text)
    page.hover(page.part(part))
    tooltip(page, expected)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("Attends to", "weighted mean"),
        ("Gathers", "Each word below it sends a branch"),
        ("weight w", "the branch of this word is multiplied by"),
        ("share", "The part of the value"),
        ("subtree mask", "only to what is inside it"),
        ("@NP", "part of NP (noun phrase)"),
    ],
)
def test_a_term_is_explained_on_hover_and_on_focus(page: Page, term: str, expected: str) -> None:
    page.open(TEXT)
    page.select("@NP: gorgeous")
    (button,) = [button for button in page.all("#details .term") if button.text == term]
    ActionChains(page.driver).move_to_element(button).perform()
    tooltip(page, expected)
    ActionChains(page.driver).move_to_element(page.one("h1")).perform()
    page.wait(lambda driver: not page.one("#tooltip").is_displayed())
    page.driver.execute_script("arguments[0].focus()", button)
    tooltip(page, expected)
    assert expected in button.get_attribute("aria-description")
    page.press(Keys.ESCAPE)
    page.wait(lambda driver: not page.one("#tooltip").is_displayed())
    assert page.problems() == []


def test_every_label_and_tag_of_the_embedded_parsers_is_explained(page: Page) -> None:
    page.open(TEXT)
    script = """const done = arguments[arguments.length - 1];
        import('/page/glossary.js').then(({meaningOfLabel, meaningOfTag}) => done([
            arguments[1].filter((label) => !meaningOfLabel(label, arguments[0])),
            arguments[2].filter((tag) => !meaningOfTag(tag))]));"""
    for language in ("en", "de", "fr"):
        description, _ = read_parser(MODELS / language)
        labels = sorted({part for label in description.labels for part in label.split("+")})
        assert page.driver.execute_async_script(script, language, labels, list(description.tags)) == [[], []]
