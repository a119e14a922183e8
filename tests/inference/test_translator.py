"""Translators find what ``generate`` finds, whatever is translated beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer import Tree, TreeProcessor
from treeformer.data.tokens import detokenize
from treeformer.inference.translator import Translator
from treeformer.models.systems import load
from treeformer.trees import join

TEXTS = ["the good film", "", "a bad story . the plain film", "great", "the film the film the film the story"]


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_translations_are_the_beams_of_the_model(runs: Path, system: str) -> None:
    run = runs / f"translation-{system}"
    translator = Translator.from_pretrained(run, device="cpu")
    own, model = load(run)
    processor = TreeProcessor.from_pretrained(run)
    for text, found in zip(TEXTS, translator.n_best(TEXTS, 3, length_penalty=0.6), strict=True):
        if not text:
            assert [(one.text, one.tokens) for one in found] == [("", ())] * 3
            continue
        output = model.eval().generate(
            **processor([text], reads=own.reads),
            num_beams=3,
            num_return_sequences=3,
            length_penalty=0.6,
            max_new_tokens=52,
            return_dict_in_generate=True,
            output_scores=True,
        )
        for row, score, one in zip(output.sequences.tolist(), output.sequences_scores, found, strict=True):
            assert list(one.tokens) == processor.words(row)
            assert one.text == detokenize(one.tokens, "de")
            assert one.score == pytest.approx(score.item(), abs=1e-4)
    assert any(one.text for one in translator(TEXTS))


def test_what_stands_beside_a_text_changes_nothing(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-tree-transformer", device="cpu", batch=2)
    together = translator(TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        (alone,) = translator([text])
        assert alone.tokens == found.tokens
        assert alone.score == pytest.approx(found.score, abs=1e-5)


def test_trees_may_be_given_and_several_sentences_are_one_source(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-tree-transformer", device="cpu")
    text = "The good film. A bad story!"
    trees = translator.processor.parser.parse([text])
    assert len(trees) == 2
    assert translator([text]) == translator([join(trees)])
    assert translator.processor.read_all([text])[0].tree.labels[-1] == "DOC"


def test_greedy_search_has_scores_too(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-transformer", device="cpu")
    (found,) = translator(["the good film"], beams=1)
    assert -10 < found.score < 0


def test_what_cannot_be_searched_is_said(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-transformer", device="cpu")
    with pytest.raises(ValueError, match="expected 1 to 2, which is the number of beams, got 3"):
        translator.n_best(["the film"], 3, beams=2)
    with pytest.raises(ValueError, match="expected a list"):
        translator(Tree.from_brackets("(NP (NN film))"))
    assert translator([]) == []


def test_a_search_ends_when_its_time_is_over(runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-tree-transformer")
    readings = translator.processor.read_all(["the great story"])
    assert len(translator.translate(readings, seconds=60)) == 1
    with pytest.raises(TimeoutError, match="seconds: no translation within"):
        translator.translate(readings, seconds=1e-4)
