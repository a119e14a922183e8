"""Trees, answers and attention draw themselves in notebooks."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from treeformer import Classifier, Translator, Tree
from treeformer.data.tasks.sst import SENTIMENTS
from treeformer.inference import Classification, Phrase, attend
from treeformer.inference.alignment import aligned_translations
from treeformer.inference.attention import part_attention
from treeformer.inference.pictures import classes_of, classified_svg

TREE = Tree.from_brackets("(S (NP (DT the) (NN film)) (ADJP (JJ good)))")


def texts(svg: str) -> list[str]:
    """The texts of a picture; an error if it is not XML."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter() if "text" in element.tag]


def rules(svg: str) -> list[str]:
    """The selectors of the style of a picture."""
    style = re.sub(r"@media [^{]*\{", "", svg[svg.index("<style>") + 7 : svg.index("</style>")])
    return re.findall(r"^(.*?) \{", style, re.MULTILINE)


def test_a_tree_draws_itself_without_touching_the_rest_of_the_page() -> None:
    svg = TREE._repr_svg_()
    assert {"the", "film", "good", "S", "NP"} <= set(texts(svg))
    assert "prefers-color-scheme: dark" in svg
    assert rules(svg)
    assert all(rule.startswith("svg.treeformer ") for rule in rules(svg))


def test_an_answer_draws_the_colours_of_its_classes() -> None:
    answer = Classifier.from_pretrained(device="cpu")(["The plot is dull, but the actors save it."])[0]
    assert classes_of(answer) == SENTIMENTS
    assert answer._repr_svg_() == classified_svg(answer, SENTIMENTS, adaptive=True)


def test_classes_that_an_answer_does_not_show_have_no_name() -> None:
    phrase = Phrase((0, 2), "noun", "the film", (0.1, 0.7, 0.2))
    answer = Classification("", "verb", (0.1, 0.2, 0.7), TREE, (phrase,))
    assert classes_of(answer) == ("?0", "noun", "verb")
    assert "the film: noun, 70%" in answer._repr_svg_()


@pytest.mark.parametrize("part", [-1, 0, 4])
def test_attention_is_drawn_for_every_part(runs: Path, part: int) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-tree-transformer", device="cpu")
    attended = attend(classifier, TREE, part)
    (reading,) = classifier.processor.read_all([TREE])
    assert attended.part == part % (len(reading.tree.words) + len(reading.tree))
    assert attended.attention == part_attention(classifier, reading, attended.part)
    layer = attended.attention.weights[-1]
    expected = [sum(column) / len(layer) for column in zip(*layer, strict=True)]
    assert attended.shares() == pytest.approx(expected)
    assert f"{max(expected):.1%} of the attention" in attended._repr_svg_()


def test_a_part_that_is_not_there_is_refused(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-tree-transformer", device="cpu")
    with pytest.raises(ValueError, match=r"part: expected -\d+ to \d+, got 99"):
        attend(classifier, TREE, 99)


def test_a_translation_shows_a_row_for_each_of_its_words(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-tree-transformer", device="cpu")
    (answer,) = aligned_translations(translator, translator.processor.read_all(["the cat sleeps"]))
    table = ElementTree.fromstring(f"<div>{answer._repr_html_()}</div>")
    rows = list(table.iter("tr"))
    assert len(rows) == 1 + len(answer.words)
    assert len(list(rows[0])) == 1 + len(answer.tree.words) + len(answer.tree)
