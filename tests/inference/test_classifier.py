"""Classifiers say what their model says about the processed text, for every phrase."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch

from tests.inference.runs import trained
from tests.training.corpora import sentiment
from treeformer import Tree, TreeProcessor
from treeformer.data.preparation import prepare
from treeformer.data.recipe import DataRecipe
from treeformer.inference.classifier import Classifier
from treeformer.inference.loading import run_facts
from treeformer.inference.pictures import classified_svg, classified_text
from treeformer.inference.shipped import SHIPPED
from treeformer.inference.translator import Translator
from treeformer.models.systems import load
from treeformer.progress import Progress
from treeformer.trees import binarise

TEXTS = ["The good film tells a great story.", "Bad.", "A plain film. The awful story is bad!"]


def by_hand(run: Path, text: str) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Probabilities of the sentence, of its words and of its nodes."""
    system, model = load(run)
    output = model.eval()(**TreeProcessor.from_pretrained(run)([text], reads=system.reads))
    parts = (output.logits, output.get("leaf_logits"), output.get("node_logits"))
    root, leaves, nodes = (None if part is None else part[0].softmax(-1) for part in parts)
    assert root is not None
    return root, leaves, nodes


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_an_answer_is_that_of_the_model_to_the_processed_text(runs: Path, system: str) -> None:
    run = runs / f"sentiment-{system}"
    classifier = Classifier.from_pretrained(run, device="cpu")
    for text, found in zip(TEXTS, classifier(TEXTS), strict=True):
        root, leaves, nodes = by_hand(run, text)
        assert found.text == text
        torch.testing.assert_close(torch.tensor(found.probabilities), root)
        assert found.label == classifier.classes[int(root.argmax())]
        assert [found.tree] == [reading.tree for reading in classifier.processor.read_all([text])]
        if system == "transformer":
            assert found.phrases == ()
            continue
        phrases = {phrase.span: torch.tensor(phrase.probabilities) for phrase in found.phrases}
        assert phrases.keys() >= {(word, word + 1) for word in range(len(found.tree.words))}
        for span, own in zip(found.tree.spans, nodes, strict=True):
            torch.testing.assert_close(phrases.pop(span), own)
        for (word, _), own in phrases.items():
            torch.testing.assert_close(own, leaves[word])
        last = found.phrases[-1]
        assert (last.label, last.text) == (found.label, " ".join(found.tree.words))


def test_trees_with_many_branches_are_cut_in_two_as_parses_are(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-tree-transformer", device="cpu")
    tree = Tree.from_brackets("(ROOT (S (NP (DT the) (JJ good) (NN film)) (NN story)))", unary="keep")
    found, cut = classifier([tree, binarise(Tree.from_brackets(str(tree)))])
    assert str(found.tree) == "(S (NP (DT the) (@NP (JJ good) (NN film))) (NN story))"
    assert found.phrases == cut.phrases


def test_a_word_in_pieces_has_one_answer(tmp_path: Path) -> None:
    words = sentiment(tmp_path)
    bpe = {**words.manifest.recipe, "vocabulary": {"kind": "bpe", "size": 24}}
    corpus = prepare(
        DataRecipe.model_validate(bpe), tmp_path / "files", tmp_path / "pieces", progress=Progress()
    )
    run = trained(corpus, tmp_path / "run", "tree-transformer", "data.vocabulary={kind: bpe, size: 24}")
    tree = Tree.from_brackets("(NP (JJ great) (NN story))")
    (found,) = Classifier.from_pretrained(run, device="cpu")([tree])
    assert [phrase.text for phrase in found.phrases] == ["great", "story", "great story"]


def test_what_cannot_be_answered_is_said(runs: Path, tmp_path: Path) -> None:
    for action, message in [
        (lambda: Classifier.from_pretrained(tmp_path / "none"), "none: no such folder"),
        (lambda: Classifier.from_pretrained(tmp_path), "no config.json there, expected a run"),
        (lambda: Classifier.from_pretrained(runs / "translation-transformer"), "this model translates"),
        (lambda: Translator.from_pretrained(runs / "sentiment-transformer"), "this model classifies"),
        (lambda: Classifier.from_pretrained(runs / "sentiment-transformer", device="tpu"), "cpu or cuda"),
    ]:
        with pytest.raises(ValueError, match=message):
            action()
    begun = tmp_path / "begun"
    shutil.copytree(runs / "sentiment-transformer", begun)
    (begun / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="begun: no model there yet"):
        Classifier.from_pretrained(begun)
    classifier = Classifier.from_pretrained(runs / "sentiment-transformer", device="cpu")
    assert classifier([]) == []
    assert classifier.processor.read(["", " \u2028 "]) == [None, None]
    assert len(classifier(text for text in ["fine", "bad"])) == 2
    with pytest.raises(ValueError, match="got none in text 2"):
        classifier(["fine", " "])
    with pytest.raises(ValueError, match="expected a list of texts"):
        classifier("fine")


def test_every_phrase_is_drawn_in_the_colour_of_its_class(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-tree-transformer", device="cpu")
    (found,) = classifier(["The good film."])
    drawn = classified_text(found, classifier.classes, lambda text, colour: f"[{colour}|{text}]")
    assert drawn.count("|") == len(found.phrases)
    plain = classified_text(found, classifier.classes, lambda text, colour: text)
    assert "good" in plain
    svg = classified_svg(found, classifier.classes)
    assert svg.count("<title>") == len(found.phrases)
    assert f"good: {next(p.label for p in found.phrases if p.text == 'good')}" in svg


def test_the_model_that_comes_along_knows_praise_from_blame() -> None:
    praise, blame = Classifier.from_pretrained()(
        ["a gorgeous, witty, seductive movie.", "It is a dull, stupid mess."]
    )
    assert praise.label in ("positive", "very positive")
    assert blame.label in ("negative", "very negative")
    words = {phrase.text: phrase.label for phrase in praise.phrases}
    assert words["movie"] == "neutral"
    assert "positive" in words["witty"]


def test_the_model_that_comes_along_is_small() -> None:
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) <= 6_000_000


def test_any_iterable_of_texts_is_read_and_other_items_are_named(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-transformer", device="cpu")
    texts = ["fine", "bad"]
    labels = [answer.label for answer in classifier(texts)]
    pandas = pytest.importorskip("pandas")
    columns = [
        pandas.Series(texts),
        pandas.array(texts),
        pyarrow.array(texts),
        pyarrow.chunked_array([texts]),
    ]
    dataset = pytest.importorskip("datasets").Dataset.from_dict({"text": texts})
    columns += [dataset["text"], dataset[:]["text"], np.array(texts)]
    columns += [dataset, {"text": texts}, pyarrow.table({"text": texts, "label": [1, 2]})]
    columns += [pandas.DataFrame({"text": texts, "label": [1, 2]}), pandas.DataFrame({"review": texts})]
    for iterable in (iter(texts), (text for text in texts), tuple(texts), *columns):
        assert [answer.label for answer in classifier(iterable)] == labels
    for wrong, message in [
        (pandas.Series(["fine", float("nan")]), r"got nan \(float\) as text 2"),
        ([None], r"got None \(NoneType\) as text 1"),
        ([b"fine"], r"got b'fine' \(bytes\) as text 1"),
        (pandas.DataFrame({"a": texts, "b": texts}), "got a DataFrame; select one of its columns: a, b"),
        (pyarrow.table({"a": texts, "b": texts}), "got a Table; select one of its columns: a, b"),
        (b"fine", "got one bytes"),
    ]:
        with pytest.raises(ValueError, match=message):
            classifier(wrong)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("processor.json", "[]", r"processor\.json: expected a JSON object, found list"),
        ("processor.json", "[" * 100_000, r"processor\.json: expected a JSON object, found one nested too"),
        ("processor.json", '{"kind": "classification"}', r"processor\.json: language: field required"),
        ("processor.json", {"labels": ["NP"]}, r"processor\.json: labels: expected <unk> and DOC first"),
        ("processor.json", {"classes": 3}, r"processor\.json: classes: input should be a valid tuple"),
        ("processor.json", {"classes": ["a"]}, r"config\.json has num_labels 5, but .* have 1"),
        (
            "processor.json",
            {"labels": ["<unk>", "DOC"]},
            r"config\.json has node_vocab_size .* have 2",
        ),
        ("tokenizer.json", "{}", r"tokenizer\.json: not a tokenizer"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused_by_name_and_key(
    runs: Path, tmp_path: Path, name: str, content: str | dict[str, object], message: str
) -> None:
    run = shutil.copytree(runs / "sentiment-tree-transformer", tmp_path / "run")
    if isinstance(content, dict):
        content = json.dumps({**json.loads((run / name).read_text()), **content})
    (run / name).write_text(content)
    with pytest.raises(ValueError, match=rf"{name}: damaged or changed"):
        Classifier.from_pretrained(run, device="cpu")
    (run / "checksums.json").unlink()
    with pytest.raises(ValueError, match=message) as raised:
        Classifier.from_pretrained(run, device="cpu")
    assert "\n" not in str(raised.value)


def test_facts_of_the_wrong_shape_are_refused_by_name(tmp_path: Path) -> None:
    assert run_facts(tmp_path) == {}
    for content in ("[]", "{", "[" * 100_000):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(ValueError, match=r"run\.json: expected a JSON object"):
            run_facts(tmp_path)


def test_readings_may_come_from_a_generator(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-transformer", device="cpu")
    translator = Translator.from_pretrained(runs / "translation-transformer", device="cpu")
    readings = classifier.processor.read_all(["good", "bad film"])
    assert classifier.classify(one for one in readings) == classifier.classify(readings)
    readings = translator.processor.read_all(["good", "bad film"])
    assert translator.translate(one for one in readings) == translator.translate(readings)
    assert translator(text for text in ["good"]) == translator(["good"])


@pytest.mark.filterwarnings("ignore")
def test_answers_that_are_not_finite_are_errors(runs: Path) -> None:
    classifier = Classifier.from_pretrained(runs / "sentiment-transformer", device="cpu")
    translator = Translator.from_pretrained(runs / "translation-transformer", device="cpu")
    for answers in (classifier, translator):
        for parameter in answers.model.parameters():
            parameter.fill_(1e38)  # finite, but not what is computed from it
        with pytest.raises(ValueError, match="infinite or NaN"):
            answers(["good film"])
