"""Effects are what a model answers when words are unknown to it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.inference.runs import trained
from tests.training.corpora import sentiment
from treeformer import Classifier, Tree
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.recipe import DataRecipe
from treeformer.inference import Classification, Effect
from treeformer.inference.effect_pictures import explained_svg, explained_text, strongest
from treeformer.inference.effects import log_odds
from treeformer.inference.pictures import marks_of
from treeformer.inference.shipped import SHIPPED
from treeformer.models.systems import load
from treeformer.progress import Progress

UNKNOWN = 3
TREE = Tree.from_brackets(
    "(S (NP (DT the) (NN film)) (VP (VBZ tells) (NP (DT a) (@NP (JJ great) (NN story)))))"
)


@pytest.fixture(scope="module", params=["tree-transformer", "transformer", "composed"])
def run(request: pytest.FixtureRequest, runs: Path, composed: Path) -> Path:
    return composed if request.param == "composed" else runs / f"sentiment-{request.param}"


def odds_by_hand(run: Path, classifier: Classifier, tree: Tree, known: set[int]) -> list[float]:
    """The log-odds of each class if the model knows only these words, from one text at a time."""
    system, model = load(run)
    inputs = classifier.processor([tree], reads=system.reads)
    for place in range(inputs["input_ids"].shape[1]):
        if place not in known:
            inputs["input_ids"][0, place] = UNKNOWN
    with torch.no_grad():
        probabilities = model.eval().double()(**inputs).logits[0].softmax(-1).tolist()
    return [math.log(one / (1 - one)) for one in probabilities]


def test_an_effect_is_the_mean_of_two_differences(run: Path) -> None:
    classifier = Classifier.from_pretrained(run, device="cpu")
    (answer,) = classifier.explain([TREE])
    words = set(range(len(answer.tree.words)))
    whole, nothing = (odds_by_hand(run, classifier, TREE, known) for known in (words, set[int]()))
    expected = {(word, word + 1) for word in words} | {*answer.tree.spans}
    assert {effect.span for effect in answer.effects} == expected
    assert answer.effects[-1].span == (0, len(words))
    for effect in answer.effects:
        inside = set(range(*effect.span))
        without, alone = (odds_by_hand(run, classifier, TREE, known) for known in (words - inside, inside))
        rows = zip(whole, without, alone, nothing, strict=True)
        by_hand = [((all_ - less) + (only - none)) / 2 for all_, less, only, none in rows]
        assert effect.log_odds == pytest.approx(by_hand, abs=2e-4)
        assert [math.log(one / (1 - one)) for one in effect.without] == pytest.approx(without, abs=2e-4)
        assert effect.text == " ".join(TREE.words[slice(*effect.span)])
        if effect.span in ((2, 3), (3, 4)):  # words that the corpus does not have
            assert effect.towards is None
        else:
            assert effect.towards == classifier.classes[effect.log_odds.index(effect.strength)]


def test_the_two_halves_of_a_text_add_up_to_the_whole(run: Path) -> None:
    (answer,) = Classifier.from_pretrained(run, device="cpu").explain([TREE])
    effects = {effect.span: effect.log_odds for effect in answer.effects}
    halves = [one + other for one, other in zip(effects[0, 2], effects[2, 6], strict=True)]
    assert halves == pytest.approx(effects[0, 6], abs=1e-4)


def test_explaining_changes_no_answer_and_depends_on_no_other_text(run: Path) -> None:
    classifier = Classifier.from_pretrained(run, device="cpu")
    texts = ["A great film.", "bad", "the awful story. A good film"]
    together = classifier.explain(texts)
    for text, answer in zip(texts, together, strict=True):
        (alone,), (plain,) = classifier.explain([text]), classifier([text])
        assert (plain.label, plain.tree, plain.effects) == (answer.label, answer.tree, ())
        assert [effect.span for effect in answer.effects] == [effect.span for effect in alone.effects]
        for one, other in zip(answer.effects, alone.effects, strict=True):
            assert one.log_odds == pytest.approx(other.log_odds, abs=1e-4)


def test_all_pieces_of_a_word_are_hidden_and_no_other(tmp_path: Path) -> None:
    words = sentiment(tmp_path)
    bpe = {**words.manifest.recipe, "vocabulary": {"kind": "bpe", "size": 24}}
    corpus = prepare(
        DataRecipe.model_validate(bpe), tmp_path / "files", tmp_path / "pieces", progress=Progress()
    )
    run = trained(corpus, tmp_path / "run", "tree-transformer", "data.vocabulary={kind: bpe, size: 24}")
    processor = Classifier.from_pretrained(run, device="cpu").processor
    (reading,) = processor.read_all([Tree.from_brackets("(NP (JJ great) (NN story))")])
    start, end = reading.piece_starts[1:]
    assert end - start > 1
    hidden = processor.hide(reading, {1}).input_ids.tolist()
    assert hidden == reading.example.input_ids.tolist()[:start] + [UNKNOWN] * (end - start)


def test_a_model_knows_whether_it_was_taught_labels_of_phrases(tmp_path: Path, runs: Path) -> None:
    corpus = PreparedCorpus.open(runs / "sentiment" / "prepared")
    text = trained(corpus, tmp_path / "text", "tree-transformer", "training.targets=text")
    assert not Classifier.from_pretrained(text, device="cpu").phrases_taught
    assert Classifier.from_pretrained(runs / "sentiment-tree-transformer", device="cpu").phrases_taught
    assert not Classifier.from_pretrained(runs / "sentiment-transformer", device="cpu").phrases_taught


def test_log_odds_are_those_of_probabilities() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5], [300.0, 0.0, -300.0]], dtype=torch.float64)
    p = logits[0].softmax(-1)
    torch.testing.assert_close(log_odds(logits)[0], p.log() - (1 - p).log())
    assert log_odds(logits)[1].tolist() == pytest.approx([300, -300, -600])
    assert log_odds(logits[:, :1]).tolist() == [[0], [0]]


def test_polar_words_speak_for_their_classes() -> None:
    (answer,) = Classifier.from_pretrained(SHIPPED, device="cpu").explain(
        ["Although the zip is flimsy, the lining is excellent."]
    )
    effects = {effect.text: effect for effect in answer.effects}
    assert effects["flimsy"].towards in ("negative", "very negative")
    assert effects["excellent"].towards in ("positive", "very positive")
    assert effects["zip"].towards is None  # the model does not know the word
    assert {"flimsy", "excellent"} <= {word for one in strongest(answer) for word in one.text.split()}


def explained(*effects: tuple[tuple[int, int], str | None, float]) -> Classification:
    """An answer of two classes with these effects: their span, class and strength."""
    rows = [
        Effect(
            span,
            " ".join(TREE.words[slice(*span)]),
            towards,
            (-strength, strength) if towards == "good" else (strength, -strength),
            (0.4, 0.6),
        )
        for span, towards, strength in effects
    ]
    return Classification("", "good", (0.1, 0.9), TREE, (), (), False, tuple(rows))


def test_the_strongest_effects_are_those_of_parts_that_do_not_overlap() -> None:
    answer = explained(
        ((0, 1), None, 0.0),
        ((1, 2), "good", 0.2),
        ((3, 4), "bad", 0.1),  # weak
        ((0, 2), "good", 0.5),
        ((4, 5), "good", 1.9),
        ((4, 6), "good", 2.0),  # owes its effect to the word
        ((2, 6), "bad", 3.0),  # more than half of the words
        ((0, 6), "good", 4.0),
    )
    assert [effect.span for effect in strongest(answer)] == [(0, 2), (4, 5)]
    assert [effect.span for effect in strongest(answer, 1)] == [(4, 5)]


def test_effects_are_drawn_in_the_colour_of_their_class() -> None:
    answer = explained(
        ((0, 1), None, 0.0), ((4, 5), "good", 2.0), ((2, 6), "bad", 0.3), ((0, 6), "good", 2.0)
    )
    text = explained_text(answer, ("bad", "good"), lambda text, colour: f"[{colour}|{text}]")
    assert text.count("|") == 1  # neither weak effects are marked, nor that of the whole text
    assert text.splitlines()[-1] == "  great  good +2.0  without it: good (60%)"
    svg = explained_svg(answer, ("bad", "good"))
    assert "<title>great: for good, +2.0; without it: good (60%)</title>" in svg
    assert "<title>the: no effect; without it: good (60%)</title>" in svg
    assert svg.count("<title>") == 4
    assert answer._repr_svg_().count("<title>") == 4


def test_the_effect_of_the_whole_text_is_not_drawn_unless_it_is_one_word() -> None:
    """The answer can be good although the whole text speaks for bad, against a text without words."""
    pictures = (
        explained(((4, 5), "good", 0.5), ((0, 6), "bad", 2.0)),
        replace(explained(((0, 1), "bad", 2.0)), tree=Tree.from_brackets("(NP (NN film))")),
    )
    for answer, painted, marked in zip(pictures, (["great"], ["NP", "film"]), ("good", "bad"), strict=True):
        text = explained_text(answer, ("bad", "good"), lambda text, colour: f"[{text}]")
        assert re.findall(r"\[(\w+)", text) == painted
        svg = explained_svg(answer, ("bad", "good"))
        assert [name for name, colour in marks_of(("bad", "good")) if colour in svg] == [marked]
