"""Text or a tree in, a clean and coloured tree on the page."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.page import Page
from tests.serving.process import TEXT

LONG = (
    "Although the plot, which was adapted from a novel that nobody I know has ever finished, wanders through "
    "three decades and at least as many continents without once explaining why its hero should care, the "
    "actors are so warm, the music so generous, and the photography so patient with faces and with weather "
    "that I left the theatre, late on a wet and otherwise hopeless Tuesday, feeling that somebody had "
    "quietly given me a present."
)


def test_a_typed_text_becomes_a_coloured_tree(page: Page) -> None:
    page.open()
    field = page.one("#text")
    field.clear()
    field.send_keys("A dull and stupid story.")
    page.click("#read")
    page.wait(lambda driver: "negative" in page.one("#status").text)
    words = [part.text for part in page.all(".word-part .word")]
    assert words == ["A", "dull", "and", "stupid", "story", "."]
    colours = {pill.get_attribute("fill") for pill in page.all(".pill")}
    assert colours <= {"#e8776a", "#f6c0b5", "#e6e6e6", "#bfe3b4", "#79c26f"}
    assert len(colours) > 1
    assert page.problems() == []
    page.screenshot("reading")


def test_a_tree_in_brackets_is_read_as_a_tree(page: Page) -> None:
    page.open("(S (NP (PRP It)) (VP (VBZ works) (-LRB- -LRB-) (RB well) (-RRB- -RRB-)))")
    assert [part.text for part in page.all(".word-part .word")] == ["It", "works", "(", "well", ")"]


def test_the_page_reports_what_is_no_tree(page: Page) -> None:
    page.open()
    page.one("#text").clear()
    page.one("#text").send_keys("(S (NP", Keys.ENTER)
    page.wait(lambda driver: page.one("#problem").text.startswith("line 1, column 1: expected 2 more ')'"))
    assert not page.all(".pane")  # the previous answer is gone


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    script = """return [...document.querySelectorAll(arguments[0])].map((element) => {
        const {left, right, top, bottom, height} = element.getBoundingClientRect();
        return {left, right, top, bottom, height}; });"""
    return page.driver.execute_script(script, selector)


@pytest.mark.parametrize(("name", "text"), [("short", "It works."), ("middle", TEXT), ("long", LONG)])
@pytest.mark.parametrize("layout", ["auto", "upright", "sideways", "outline"])
def test_no_two_texts_of_a_tree_overlap(page: Page, name: str, text: str, layout: str) -> None:
    page.open(text, layout=layout)
    places = boxes(page, ".tree .pill") + boxes(page, ".tree .tag")
    assert len(places) >= 3 * len(text.split()) - 3
    for number, one in enumerate(places):
        for other in places[:number]:
            apart = (
                one["right"] <= other["left"] + 0.6
                or other["right"] <= one["left"] + 0.6
                or one["bottom"] <= other["top"] + 0.6
                or other["bottom"] <= one["top"] + 0.6
            )
            assert apart, (one, other)
    if layout == "auto":
        assert min(box["height"] for box in boxes(page, ".tree .pill")) > 13  # still readable
        page.screenshot(f"tree-{name}")


def test_probabilities_are_shown_on_hover_and_on_focus(page: Page) -> None:
    page.open()
    page.hover(page.part("word witty"))
    tooltip = page.one("#tooltip")
    page.wait(lambda driver: tooltip.is_displayed())
    assert tooltip.text.split("\n")[0] == "witty"
    assert tooltip.text.count("%") == 5
    page.screenshot("tooltip")
    page.driver.execute_script("arguments[0].focus()", page.part("NP:"))
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda driver: tooltip.text.startswith("A\n"))
    page.press(Keys.ESCAPE)
    assert not tooltip.is_displayed()


def test_the_picture_can_be_enlarged_moved_and_reset(page: Page) -> None:
    page.open(LONG)
    page.click('[aria-label="Readable size"]')
    first = page.view_box()
    page.click('[aria-label="Zoom in"]')
    assert page.view_box()[2] < first[2]
    page.click('[aria-label="Zoom out"]')
    assert page.view_box()[2] == pytest.approx(first[2])
    page.driver.execute_script(
        """const tree = document.querySelector('.tree');
        const event = (type, clientX, clientY) =>
            new PointerEvent(type, {bubbles: true, button: 0, clientX, clientY});
        tree.dispatchEvent(event('pointerdown', 300, 500));
        window.dispatchEvent(event('pointermove', 200, 450));
        window.dispatchEvent(event('pointerup', 200, 450));"""
    )
    moved = page.view_box()
    assert moved[0] > first[0]
    assert moved[1] > first[1]
    page.click('[aria-label="Readable size"]')
    assert page.view_box() == pytest.approx(first)
    page.click('[aria-label="Show all of the tree"]')
    left, top, _, height = page.view_box()
    picture = page.driver.execute_script("return document.querySelector('.tree > g').getBBox().height")
    assert min(left, top) <= 0
    assert top + height >= picture
