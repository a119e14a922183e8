"""The attention and the branches of a composed model are what the model computes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from treeformer import Tree
from treeformer.inference import Classifier
from treeformer.inference.attention import _branch_values, _recorded_calls, part_attention

TREE = Tree.from_brackets("(S (NP (DT the) (NN film)) (VP (VBZ is) (RB so) (ADJP (RB so) (JJ good))))")


@pytest.fixture(scope="module")
def classifier(composed: Path) -> Classifier:
    return Classifier.from_pretrained(composed, device="cpu")


def test_a_node_attends_to_its_subtree_and_has_its_branches(classifier: Classifier) -> None:
    reading = classifier.processor.reading([TREE], exact=True)
    words = len(TREE.words)
    phrase = TREE.labels.index("VP")
    answer = part_attention(classifier, reading, words + phrase)
    inside = {*range(2, words), words + TREE.labels.index("ADJP"), words + phrase}
    assert {part for part, visible in enumerate(answer.visible) if visible} == inside
    for layer in answer.weights:
        for head in layer:
            assert sum(head) == pytest.approx(1, abs=1e-3)
            assert all(weight == 0 for part, weight in enumerate(head) if part not in inside)
    assert answer.accumulated is not None
    assert [branch.word for branch in answer.accumulated.branches] == [2, 3, 4, 5]
    root = part_attention(classifier, reading, words + len(TREE) - 1)
    (classified,) = classifier.classify([reading])
    assert root.probabilities == pytest.approx(classified.probabilities, abs=1e-5)
    assert part_attention(classifier, reading, 0).accumulated is None


def test_branches_sum_to_the_value_that_the_model_uses(classifier: Classifier) -> None:
    (reading,) = classifier.processor.read_all([TREE])
    inputs = classifier.processor([TREE])
    with torch.inference_mode(), _recorded_calls(classifier.model) as calls:
        classifier.model(**inputs)
        assert len(calls) == classifier.model.config.encoder_layers
        for attention, states, batch in calls:
            _, expected, _ = attention.read_memory(states, batch)
            for node in range(len(reading.tree)):
                _, flows = _branch_values(attention, states, batch, node)
                torch.testing.assert_close(flows.sum(1), expected[0, :, batch.n + node], atol=1e-4, rtol=1e-4)
