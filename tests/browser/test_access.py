"""With the keyboard, with a screen reader, on a phone, in the dark, and without any other machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.axe import AXE
from tests.browser.page import Page
from tests.browser.test_reading import LONG
from tests.serving.process import TEXT, ServiceProcess, serving


def serious(page: Page) -> list[str]:
    """What axe-core finds that is serious or worse."""
    if not AXE.is_file():
        pytest.fail(f"{AXE}: no such file, expected what `make test-browser` puts there")
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    report = page.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(page: Page, dark: bool, width: int) -> None:
    page.emulate(width, 850, dark=dark, mobile=width < 500)
    page.open(TEXT, compare="shape balanced")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    page.select("NP:")
    assert serious(page) == []
    page.screenshot(f"axe-{width}-{'dark' if dark else 'light'}")


def test_axe_finds_nothing_serious_in_a_translation(page: Page) -> None:
    page.open("the great story", task="translation")
    assert serious(page) == []


def test_axe_finds_nothing_serious_in_the_interface_for_programs(page: Page) -> None:
    page.driver.get(f"{page.address}/docs")
    page.wait(lambda driver: len(page.all(".path")) == 8)
    for summary in page.all(".path summary"):
        page.click(summary)
    assert serious(page) == []
    page.screenshot("interface")


def test_all_can_be_done_with_the_keyboard(page: Page) -> None:
    page.open(TEXT)
    field = page.one("#text")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("A dull film.", Keys.ENTER)
    page.wait(lambda driver: "dull" in page.driver.current_url and page.script_busy() == "false")
    for _ in range(20):
        page.press(Keys.TAB)
        focused = page.driver.switch_to.active_element
        if focused.get_attribute("role") == "treeitem":
            break
    assert focused.get_attribute("aria-label").startswith("NP: A dull film")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(lambda driver: page.all(".link"))
    assert page.one("#details h2").text.startswith("@NP")
    assert page.one('[aria-selected="true"]').get_attribute("aria-label").startswith("@NP: dull film")


def test_every_part_tells_a_screen_reader_what_it_is(page: Page) -> None:
    page.open(TEXT)
    names = [part.get_attribute("aria-label") for part in page.all('[role="treeitem"]')]
    assert names[1].startswith("word gorgeous, JJ; positive 9")
    assert all("%" in name for name in names)
    assert page.one('[role="tree"]').get_attribute("aria-label") == f"Tree of: {TEXT}"
    assert "very positive" in page.one('#status[role="status"]').text


def test_a_phone_shows_all_without_scrolling_sideways(page: Page) -> None:
    page.emulate(360, 740, mobile=True)
    page.open(TEXT)
    page.select("word witty")
    assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    page.screenshot("phone")


@pytest.mark.parametrize("text", [TEXT, "The plot is dull, but the actors save it.", LONG])
def test_a_phone_shows_words_at_once_and_readable(page: Page, text: str) -> None:
    page.emulate(390, 844, mobile=True)
    page.open(text)
    assert not page.one("#compare").is_displayed()
    boxes = [word.rect for word in page.all(".word-part .pill")]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert boxes[0]["y"] + boxes[0]["height"] < 844
    assert min(box["height"] for box in boxes) > 13
    page.click("#more")
    assert page.one("#compare").is_displayed()


@pytest.mark.parametrize("shape", ["balanced", "right"])
def test_two_trees_beside_each_other_show_all_words(page: Page, shape: str) -> None:
    page.open(LONG, compare=f"shape {shape}")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    for pane in page.all(".pane"):
        boxes = [word.rect for word in pane.find_elements("css selector", ".word-part .pill")]
        assert min(box["x"] for box in boxes) >= pane.rect["x"]
        assert max(box["x"] + box["width"] for box in boxes) <= pane.rect["x"] + pane.rect["width"]


def contrast(one: str, other: str) -> float:
    """The contrast of two opaque colours as WCAG 2 defines it, from 1 to 21."""

    def luminance(colour: str) -> float:
        channels = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (
            value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_the_bar_of_neutral_is_visible(page: Page, dark: bool) -> None:
    page.emulate(1280, 900, dark=dark)
    page.open("The film ends.")
    (bar,) = [line for line in page.all(".head .bars li") if line.text.startswith("neutral")]
    outline = bar.find_element("css selector", ".bar").value_of_css_property("box-shadow")
    ground = page.one("body").value_of_css_property("background-color")
    assert contrast(outline.split(")")[0], ground) >= 3


def test_the_dark_is_dark(page: Page) -> None:
    page.emulate(1280, 900, dark=True)
    page.open(TEXT)
    ground = page.one("body").value_of_css_property("background-color")
    assert ground == "rgba(13, 17, 23, 1)"
    page.screenshot("dark")


def test_no_other_machine_is_asked_and_nothing_is_blocked(page: Page) -> None:
    page.open(TEXT)
    page.select("NP:")
    assert page.problems() == []
    assert page.hosts() == {page.address.removeprefix("http://")}
    page.driver.get(f"{page.address}/docs")
    page.wait(lambda driver: page.all(".path"))
    assert page.problems() == []
    assert page.hosts() == {page.address.removeprefix("http://")}


@pytest.fixture
def guarded() -> Iterator[ServiceProcess]:
    with serving("--token", "open-sesame") as service:
        yield service


def test_the_page_asks_for_the_token(page: Page, guarded: ServiceProcess) -> None:
    page.driver.get(guarded.address)
    page.wait(lambda driver: page.one("#token").is_displayed())
    page.one("#token").send_keys("open-sesame")
    page.click("#read")
    page.wait_until_read()
    assert page.all(".verdict")
