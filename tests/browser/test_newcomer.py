"""What people do who have not read anything: odd texts, quick clicks, the buttons of the browser."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.page import Page
from tests.serving.process import TEXT


def read(page: Page, text: str) -> None:
    page.driver.execute_script("document.getElementById('text').value = arguments[0]", text)
    page.one("#text").send_keys(Keys.ENTER)


def words(page: Page) -> list[str]:
    return [word.text for word in page.all(".word-part .word")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(Not bad!) I liked it.", ["(", "Not", "bad", "!", ")", "I", "liked", "it", "."]),
        ("(Great!)", ["(", "Great", "!", ")"]),
        ("(NN film)", ["film"]),
        ("(S\n  (NP\t(DT the) (NN film))\n  (VP (VBZ ends)))", ["the", "film", "ends"]),
        ("love it 😍", ["love", "it", "😍"]),
        ("x < y & z", ["x", "<", "y", "&", "z"]),
        ("g" * 500, ["g" * 500]),
    ],
)
def test_odd_texts_are_read(page: Page, text: str, expected: list[str]) -> None:
    page.open()
    read(page, text)
    page.wait(lambda driver: words(page) == expected, f"expected {expected}")
    assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.problems() == []


def test_enter_reads_and_shift_enter_starts_a_line(page: Page) -> None:
    page.open()
    field = page.one("#text")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("A dull", Keys.SHIFT, Keys.ENTER)
    assert words(page)[1] == "gorgeous"
    field.send_keys(Keys.NULL, "film", Keys.ENTER)
    page.wait(lambda driver: words(page) == ["A", "dull", "film"])
    assert field.get_attribute("value") == "A dull\nfilm"
    hint = page.one(f"#{field.get_attribute('aria-describedby')}")
    assert hint.is_displayed()
    assert hint.text == "Enter reads; Shift+Enter starts a new line."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \n ", "Type a sentence first."),
        ("good " * 3000, "expected at most 8,000 characters"),
        ("It is. " * 50, "expected at most 40 sentences"),
        ("(S (NP (DT a)))) x", "line 1, column"),
    ],
)
def test_the_page_reports_what_cannot_be_read(page: Page, text: str, expected: str) -> None:
    page.open()
    read(page, text)
    page.wait(lambda driver: expected in page.one("#problem").text)
    read(page, TEXT)
    page.wait(lambda driver: len(words(page)) == 8 and not page.one("#problem").text)


def test_the_browser_goes_back_to_the_text_before(page: Page) -> None:
    page.open("A dull film.")
    read(page, "A great film.")
    page.wait(lambda driver: "great" in words(page))
    page.choose("#compare", "a balanced tree")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    page.driver.back()
    page.wait(lambda driver: len(page.all(".pane")) == 1 and "great" in words(page))
    page.driver.back()
    page.wait(lambda driver: "dull" in words(page))
    assert page.one("#text").get_attribute("value") == "A dull film."
    page.driver.forward()
    page.wait(lambda driver: "great" in words(page))


def test_the_last_of_many_quick_clicks_counts(page: Page) -> None:
    page.open()
    page.driver.execute_script(
        """const pills = [...document.querySelectorAll('.part .pill')];
        for (let time = 0; time <= 30; time++)
          pills[(time * 7 + 5) % pills.length].dispatchEvent(new MouseEvent('click', {bubbles: true}));"""
    )
    chosen = page.one('[aria-selected="true"]').get_attribute("data-part")
    page.wait(lambda driver: page.all(".link"))
    assert page.one('[aria-selected="true"]').get_attribute("data-part") == chosen
    page.driver.execute_script(
        """for (let number = 1; number <= 20; number++) {
          document.getElementById('text').value = `film number ${number}`;
          document.getElementById('question').requestSubmit(); }"""
    )
    page.wait(lambda driver: words(page) == ["film", "number", "20"])
    assert page.script_busy() == "false"
    assert page.problems() == []
