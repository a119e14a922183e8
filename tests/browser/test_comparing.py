"""Trees changed by hand, control trees and other models, beside the original."""

from __future__ import annotations

import pytest

from tests.browser.page import Page
from tests.serving.process import TEXT

SENTENCE = "(S (NP (DT the) (NN film)) (VP (VBZ is) (ADJP (RB not) (JJ good))))"


def nodes(page: Page, pane: int) -> str:
    """The nodes of a pane with their words."""
    labels = page.all(".pane")[pane].find_elements("css selector", ".node-part")
    return " | ".join(part.get_attribute("aria-label").split(";")[0] for part in labels)


def wait_for_two(page: Page) -> None:
    page.wait(lambda driver: len(page.all(".pane")) == 2 and page.script_busy() == "false")


def test_a_node_is_collapsed(page: Page) -> None:
    page.open(SENTENCE)
    page.select("ADJP:")
    page.click("#collapse")
    wait_for_two(page)
    assert "ADJP" in nodes(page, 0)
    assert nodes(page, 1) == "NP: the film | VP: is not good | S: the film is not good"
    verdicts = [verdict.text for verdict in page.all(".verdict")]
    assert len(verdicts) == 2
    page.screenshot("edited")


def test_a_node_is_relabelled(page: Page) -> None:
    page.open(SENTENCE)
    page.select("ADJP:")
    page.one("#label").clear()
    page.one("#label").send_keys("PP")
    page.click("#relabel")
    wait_for_two(page)
    assert "PP: not good" in nodes(page, 1)


def test_a_part_is_attached_elsewhere_and_changed_again(page: Page) -> None:
    page.open(SENTENCE)
    page.select("word is")
    page.choose("#place", "NP: the film")
    page.click("#move")
    wait_for_two(page)
    assert nodes(page, 1).startswith("NP: the film is | ADJP: not good")
    page.select("ADJP:", pane=1)
    page.choose("#place", "NP: the film is")
    page.click("#move")
    page.wait(lambda driver: "NP: the film is not good" in nodes(page, 1))


@pytest.mark.parametrize(
    "shape", ["a balanced tree", "a right-branching tree", "a left-branching tree", "a random tree"]
)
def test_control_trees_stand_beside_the_original(page: Page, shape: str) -> None:
    page.open(TEXT)
    page.choose("#compare", shape)
    wait_for_two(page)
    assert page.all(".pane h2")[1].text == f"As {shape}"
    assert len(page.all(".verdict")) == 2
    page.screenshot("compared-" + shape.split()[1])


def test_two_models_stand_side_by_side(page: Page) -> None:
    page.open("the great story")
    page.choose("#compare", "the model sentiment-composed")
    wait_for_two(page)
    left, right = (pane.rect for pane in page.all(".pane"))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    page.select("word great", pane=1)
    page.screenshot("models")
