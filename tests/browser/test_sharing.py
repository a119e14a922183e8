"""What can be kept and passed on."""

from __future__ import annotations

import time
from pathlib import Path
from xml.etree import ElementTree

from tests.browser.page import Page
from tests.serving.process import TEXT


def downloaded(folder: Path, ending: str) -> bytes:
    for _ in range(200):
        files = list(folder.glob(f"*.{ending}"))
        if files and files[0].stat().st_size:
            content = files[0].read_bytes()
            files[0].unlink()
            return content
        time.sleep(0.05)
    raise AssertionError(f"nothing was downloaded as {ending}")


def test_the_address_holds_all_that_is_shown_and_sends_none_of_it(page: Page) -> None:
    page.open("the great story", compare="shape balanced", layout="sideways")
    address = page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(address)
    page.wait_until_read()
    assert page.one("#text").get_attribute("value") == "the great story"
    assert len(page.all(".pane")) == 2
    assert page.one("#layout").get_attribute("value") == "sideways"
    assert "?" not in address.split("#")[0]


def test_a_changed_tree_is_in_the_address(page: Page) -> None:
    page.open("(S (NP (DT the) (NN film)) (VP (VBZ is) (ADJP (RB not) (JJ good))))")
    page.select("ADJP:")
    page.click("#collapse")
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    page.driver.refresh()
    page.wait(lambda driver: len(page.all(".pane")) == 2)
    assert page.all(".pane h2")[1].text == "Changed by hand"


def test_a_tree_is_saved_as_svg(page: Page, downloads: Path) -> None:
    page.open()
    page.click('[aria-label="Download as SVG"]')
    picture = ElementTree.fromstring(downloaded(downloads, "svg"))
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"A", "gorgeous", "JJ", "witty"} <= set(texts)
    assert float(picture.get("width")) > 100


def test_a_tree_is_saved_as_png(page: Page, downloads: Path) -> None:
    page.open()
    page.click('[aria-label="Download as PNG"]')
    content = downloaded(downloads, "png")
    assert content.startswith(b"\x89PNG")
    (page.screenshots / "saved.png").write_bytes(content)
    assert int.from_bytes(content[16:20]) > 500


def test_a_tree_is_copied_as_brackets(page: Page) -> None:
    page.open(TEXT)
    permissions = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": page.address}
    page.driver.execute_cdp_cmd("Browser.grantPermissions", permissions)
    page.click('[aria-label="Copy the tree as brackets"]')
    page.wait(lambda driver: "copied" in page.one("#status").text)
    script = "navigator.clipboard.readText().then(arguments[arguments.length - 1])"
    assert page.driver.execute_async_script(script).startswith("(NP (DT A) (@NP (JJ gorgeous)")
