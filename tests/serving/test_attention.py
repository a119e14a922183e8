"""The attention that the service reports is that of the model."""

from __future__ import annotations

import pytest
import torch

from tests.serving.process import TEXT, ServiceProcess
from treeformer import Tree
from treeformer.inference import Classifier
from treeformer.inference.attention import part_attention


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier.from_pretrained()


def test_the_weights_of_each_head_sum_to_one_over_what_is_visible(service: ServiceProcess) -> None:
    answer = service.ask("attention", input=TEXT, part={"kind": "node", "index": 1}).json()
    tree = Tree.from_brackets(answer["tree"], unary="keep", strip=False)
    for layer in answer["weights"]:
        for head in layer:
            assert len(head) == len(tree.words) + len(tree) == len(answer["visible"])
            assert sum(head) == pytest.approx(1, abs=1e-3)
            assert all(seen or weight == 0 for seen, weight in zip(answer["visible"], head, strict=True))
    start, end = tree.spans[1]
    assert answer["visible"][: len(tree.words)] == [start <= word < end for word in range(len(tree.words))]


def test_a_word_sees_all_words_and_no_node(service: ServiceProcess) -> None:
    answer = service.ask("attention", input=TEXT, part={"kind": "word", "index": 2}).json()
    words = len(Tree.from_brackets(answer["tree"], unary="keep", strip=False).words)
    assert answer["visible"] == [True] * words + [False] * (len(answer["visible"]) - words)
    assert answer["accumulated"] is None


def test_without_a_part_the_root_is_asked(service: ServiceProcess) -> None:
    answer = service.ask("attention", input=TEXT).json()
    classified = service.ask("classify", inputs=[TEXT]).json()["answers"][0]
    assert answer["probabilities"] == pytest.approx(classified["probabilities"], abs=1e-4)
    assert len(answer["accumulated"]["branches"]) == len(answer["weights"][0][0]) // 2 + 1


def test_embeddings_can_be_left_out_and_come_back(service: ServiceProcess) -> None:
    first = service.ask("attention", input=TEXT).json()
    without = service.ask("attention", input=TEXT, hierarchical_embeddings=False).json()
    again = service.ask("attention", input=TEXT).json()
    assert without["probabilities"] != first["probabilities"]
    assert without["accumulated"]["flows"] != first["accumulated"]["flows"]
    assert again == first


def test_branches_sum_to_the_value_that_the_model_uses(classifier: Classifier) -> None:
    from treeformer.inference.attention import _branch_values, _recorded_calls

    (reading,) = classifier.processor.read_all([TEXT])
    tree, inputs = reading.tree, classifier.processor([TEXT])
    with torch.inference_mode(), _recorded_calls(classifier.model) as calls:
        classifier.model(**inputs)
        for attention, states, batch in calls:
            _, expected, _ = attention.read_memory(states, batch)
            for node in range(len(tree)):
                _, flows = _branch_values(attention, states, batch, node)
                torch.testing.assert_close(flows.sum(1), expected[0, :, batch.n + node], atol=1e-4, rtol=1e-4)


def test_a_branch_runs_from_the_node_down_to_the_word(classifier: Classifier) -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NN film)) (VP (VBZ is) (ADJP (RB so) (JJ good))))")
    reading = classifier.processor.reading([tree], exact=True)
    accumulation = part_attention(classifier, reading, len(tree.words) + 3).accumulated
    assert accumulation is not None
    assert [branch.nodes for branch in accumulation.branches] == [
        (3, 0),
        (3, 0),
        (3, 2),
        (3, 2, 1),
        (3, 2, 1),
    ]


def test_a_model_of_words_alone_shows_words(service: ServiceProcess) -> None:
    part = {"kind": "word", "index": 1}
    answer = service.ask("attention", input="the great story", model="other", part=part).json()
    assert sum(answer["weights"][0][0]) == pytest.approx(1, abs=1e-3)
    node = service.ask("attention", input="the great story", model="other", part={"kind": "node", "index": 0})
    assert node.status_code == 422


def test_a_part_that_is_not_there_is_refused(service: ServiceProcess) -> None:
    answer = service.ask("attention", input=TEXT, part={"kind": "word", "index": 99})
    assert answer.status_code == 422
    assert "this tree has 8 words" in answer.json()["error"]
