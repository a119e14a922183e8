"""Attention on the tree itself, the subtree mask, and accumulation step by step."""

from __future__ import annotations

from selenium.webdriver.common.by import By

from tests.browser.page import Page

SENTENCE = "(S (NP (DT the) (NN film)) (VP (VBZ is) (ADJP (RB so) (JJ good))))"


def test_a_selected_phrase_is_linked_to_what_it_attends_to(page: Page) -> None:
    page.open(SENTENCE)
    page.select("VP:")
    page.wait(lambda driver: page.all(".link"))
    targets = {int(link.get_attribute("data-target")) for link in page.all(".link")}
    assert targets <= {2, 3, 4, 6, 7}  # its words and nodes
    widths = {link.get_attribute("stroke-width") for link in page.all(".link")}
    assert len(widths) > 1
    page.screenshot("attention")


def test_what_the_mask_hides_is_dimmed(page: Page) -> None:
    page.open(SENTENCE)
    page.select("VP:")
    page.wait(lambda driver: page.all(".link"))
    dimmed = {int(part.get_attribute("data-part")) for part in page.all(".part.dimmed")}
    assert dimmed == {0, 1, 5, 8}
    page.select("word good")
    page.wait(lambda driver: len(page.all(".part.dimmed")) == 4)
    assert {int(part.get_attribute("data-part")) for part in page.all(".part.dimmed")} == {5, 6, 7, 8}


def test_layers_and_heads_have_links_of_their_own(page: Page) -> None:
    page.open(SENTENCE)
    page.select("S:")

    def most() -> str:
        return page.one("#details .most").text

    lists = {most()}
    for layer in ("layer 1", "layer 2"):
        page.choose_labelled("Layer", layer)
        for head in ("head 1", "head 2", "head 3", "head 4"):
            page.choose_labelled("Head", head)
            lists.add(most())
    assert len(lists) > 6


def test_accumulation_is_stepped_through_branch_by_branch(page: Page) -> None:
    page.open(SENTENCE)
    page.select("S:")
    for word, nodes in [("the", "NP, S"), ("film", "NP, S"), ("is", "VP, S"), ("so", "ADJP, VP, S")]:
        page.click('[data-step="next"]')
        summary = page.one(".accumulation .branch-summary").text
        assert f"“{word}” through {nodes}; w " in summary
        assert page.all(".part.on-branch .word")[0].text == word
    page.screenshot("accumulation")
    assert len(page.all(".edge.on-branch")) == 3
    assert len(page.all(".accumulation tbody tr")) == 5


def test_a_composed_model_shows_attention_and_accumulation(page: Page) -> None:
    page.open(SENTENCE)
    page.choose("#compare", "the model sentiment-composed")
    page.wait(lambda driver: len(page.all(".pane")) == 2 and page.script_busy() == "false")
    page.select("VP:", pane=1)
    other = page.all(".pane")[1]
    page.wait(lambda driver: other.find_elements(By.CSS_SELECTOR, ".link"))
    targets = {
        int(link.get_attribute("data-target")) for link in other.find_elements(By.CSS_SELECTOR, ".link")
    }
    assert targets <= {2, 3, 4, 6, 7}
    for word, nodes in [("is", "VP"), ("so", "ADJP, VP"), ("good", "ADJP, VP")]:
        page.click('[data-step="next"]')
        assert f"“{word}” through {nodes}; w " in page.one(".accumulation .branch-summary").text
    assert page.problems() == []
    page.screenshot("composed")


def test_hierarchical_embeddings_can_be_turned_off(page: Page) -> None:
    page.open(SENTENCE)
    page.select("S:")
    table = page.one(".accumulation table").text
    page.click("#embeddings")
    page.wait(lambda driver: page.one(".accumulation table").text != table)
    page.click("#embeddings")
    page.wait(lambda driver: page.one(".accumulation table").text == table)


def test_a_translation_shows_what_each_word_attends_to(page: Page) -> None:
    page.open("the great story", task="translation")
    words = page.all(".targets button")
    assert words
    assert "of its attention on nodes" in page.one(".alignment").text
    assert len(page.all(".alignment .most li")) >= 3
    page.click(words[-1])
    assert words[-1].get_attribute("aria-pressed") == "true"
    opacities = {pill.get_attribute("fill-opacity") for pill in page.all("#translation .pill")}
    assert "1.000" in opacities
    page.screenshot("translation")
    assert page.one(".translated").find_element(By.XPATH, "..").is_displayed()
