"""The service answers what the library answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from tests.serving.process import TEXT, ServiceProcess
from treeformer import Tree, load_parser
from treeformer.inference import Classifier, Translator

TREE = "(S (NP (DT the) (NN story)) (VP (VBZ is) (ADJP (JJ great))))"


def close(one: list[float], other: list[float]) -> bool:
    return one == pytest.approx(other, abs=1e-4)


def test_classify_answers_as_the_command_prints(service: ServiceProcess) -> None:
    answer = service.ask("classify", inputs=[TEXT]).json()["answers"][0]
    printed = json.loads(treeformer("classify", "--json", TEXT).stdout)
    assert answer.keys() | {"classes", "model"} == printed.keys()  # /v1/models has these
    assert (answer["text"], answer["label"], answer["tree"]) == (TEXT, printed["label"], printed["tree"])
    assert close(answer["probabilities"], printed["probabilities"])
    for phrase, expected in zip(answer["phrases"], printed["phrases"], strict=True):
        assert phrase.keys() == {"span", "label", "probabilities"}  # the text is that of the leaves
        assert phrase["span"] == expected["span"]
        assert close(phrase["probabilities"], expected["probabilities"])


def test_effects_are_those_that_the_command_prints(service: ServiceProcess) -> None:
    answer = service.ask("classify", inputs=[TEXT, "Bad."], effects=True).json()["answers"][0]
    printed = json.loads(treeformer("classify", "--explain", "--json", TEXT).stdout)
    assert answer["phrases_taught"]
    assert len(answer["effects"]) == len(printed["effects"]) == len(answer["phrases"])
    for effect, expected in zip(answer["effects"], printed["effects"], strict=True):
        assert effect.keys() == {"span", "towards", "log_odds", "without"}
        assert effect["span"] == expected["span"]
        assert close(effect["log_odds"], expected["log_odds"])
        assert close(effect["without"], expected["without"])
    long = service.ask("classify", inputs=["good " * 161], effects=True)
    assert (long.status_code, long.json()["limit"]) == (422, "words")


def test_effects_of_a_model_that_reads_words_alone(service: ServiceProcess) -> None:
    answer = service.ask("classify", inputs=["the great story"], model="other", effects=True).json()
    assert [effect["span"] for effect in answer["answers"][0]["effects"]][-1] == [0, 3]


def test_an_answer_grows_with_the_text_and_not_with_its_square(service: ServiceProcess) -> None:
    """One phrase of n words holds n + n - 1 phrases, of up to n words each."""

    def size(words: int) -> int:
        tree = "(S (NN film) " * (words - 1) + "(NN film)" + ")" * (words - 1)
        return len(service.ask("classify", inputs=[tree], trees=True).content)

    assert size(320) < 2.2 * size(160)


def test_a_tree_is_cut_as_in_training_unless_it_is_to_be_read_as_it_is(service: ServiceProcess) -> None:
    flat = "(S (DT a) (JJ dull) (NN film))"
    cut = service.ask("classify", inputs=[flat], trees=True).json()["answers"][0]
    exact = service.ask("classify", inputs=[flat], trees=True, exact=True).json()["answers"][0]
    assert cut["tree"] == "(S (DT a) (@S (JJ dull) (NN film)))"
    assert exact["tree"] == flat
    assert cut["probabilities"] != exact["probabilities"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("balanced", "(X (X (DT a) (JJ dull)) (NN film))"),
        ("left", "(X (X (DT a) (JJ dull)) (NN film))"),
        ("right", "(X (DT a) (X (JJ dull) (NN film)))"),
    ],
)
def test_a_control_tree_keeps_words_and_tags(service: ServiceProcess, shape: str, expected: str) -> None:
    question = {"inputs": ["(S (DT a) (JJ dull) (NN film))"], "trees": True, "shape": shape}
    assert service.ask("classify", **question).json()["answers"][0]["tree"] == expected


def test_a_seed_gives_the_same_random_tree(service: ServiceProcess) -> None:
    def tree(seed: int) -> str:
        return service.ask("classify", inputs=[TEXT], shape="random", seed=seed).json()["answers"][0]["tree"]

    assert tree(1) == tree(1)
    assert len({tree(seed) for seed in range(5)}) > 1


def test_parse_gives_the_trees_of_the_parser(service: ServiceProcess) -> None:
    text = "The cat sleeps. It is well."
    answer = service.ask("parse", inputs=[text, "Yes."]).json()["answers"]
    with load_parser("en") as parser:
        assert answer[0]["trees"] == [str(tree) for tree in parser.parse([text])]
    assert [len(parsed["trees"]) for parsed in answer] == [2, 1]


def test_the_other_model_answers_too(service: ServiceProcess, runs: Path) -> None:
    answer = service.ask("classify", inputs=["the great story"], model="other").json()
    expected = Classifier.from_pretrained(runs / "sentiment-transformer")(["the great story"])[0]
    assert answer["model"] == "other"
    assert close(answer["answers"][0]["probabilities"], list(expected.probabilities))
    assert answer["answers"][0]["phrases"] == []


def test_translate_answers_as_the_library(service: ServiceProcess, runs: Path) -> None:
    translator = Translator.from_pretrained(runs / "translation-tree-transformer")
    tree = Tree.from_brackets(TREE, unary="keep")
    plain = service.ask("translate", inputs=[TREE], trees=True).json()["answers"][0]
    aligned = service.ask("translate", inputs=[TREE], trees=True, attention=True).json()["answers"][0]
    assert plain["text"] == aligned["text"] == translator([tree])[0].text
    assert [word["word"] for word in aligned["words"]] == aligned["tokens"]
    for word in aligned["words"]:
        assert sum(word["weights"]) == pytest.approx(1, abs=1e-3)
        assert 0 <= word["nodes"] <= 1


def test_models_lists_what_is_loaded(service: ServiceProcess) -> None:
    about = service.client.get("/v1/models").json()
    assert [model["name"] for model in about["models"]] == ["main", "other"]
    assert about["models"][0]["classes"][-1] == {"name": "very positive", "mark": "++", "colour": "#79c26f"}
    assert [model["phrases_taught"] for model in about["models"]] == [True, False]
    assert "8,544 sentences from film reviews" in about["models"][0]["trained_on"]
    assert about["models"][1]["trained_on"] == "train.txt"
    assert about["parsers"] == ["embedded", "de", "fr"]
    assert about["languages"] == {"en": "embedded", "de": "de", "fr": "fr"}
    assert about["translation"] == "translation-tree-transformer"
    assert about["translated_language"] == "en"


def test_health_and_metrics(service: ServiceProcess) -> None:
    assert service.client.get("/healthz").json()["status"] == "ok"
    before = service.metric("treeformer_requests_total")
    service.ask("parse", inputs=["Yes."])
    assert service.metric("treeformer_requests_total") >= before + 2
