"""The Tree-LSTM classifier: what it reads, that it learns, saves and loads."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.closeness import difference
from tests.models.inputs import examples, inputs_of, one
from tests.nn.recursion import nodes_of
from treeformer import Tree, TreeLstmConfig, TreeLstmForSequenceClassification
from treeformer.models.systems import SYSTEMS, build, size_names
from treeformer.trees import balanced, right_branching

COMPOSITIONS = ["child-sum", "binary"]


def classifier(**changes: object) -> TreeLstmForSequenceClassification:
    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "d_model": 16, "embedding_dim": 12, "dropout": 0.0, "num_labels": 5}
    return TreeLstmForSequenceClassification(TreeLstmConfig(**{**sizes, **changes})).eval()


def binary_examples() -> list[Tree]:
    return [tree for tree in examples() if not tree.labels[-1].startswith("DOC")]


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_logits_are_those_of_plain_recursion(composition: str) -> None:
    model = classifier(composition=composition).double()
    inputs = inputs_of(binary_examples())
    output = model(**inputs)
    for index, tree in enumerate(binary_examples()):
        vectors = model.get_input_embeddings().weight[inputs["input_ids"][index, : len(tree.words)]]
        hidden, cell = model.encoder.words(vectors * 12**0.5)
        phrases, _ = nodes_of(tree, hidden, cell, model.encoder.phrases.composition)
        expected = model.classifier(phrases)
        torch.testing.assert_close(output.node_logits[index, : len(tree)], expected, rtol=0, atol=1e-9)
        torch.testing.assert_close(output.logits[index], expected[-1], rtol=0, atol=1e-9)
        torch.testing.assert_close(
            output.leaf_logits[index, : len(tree.words)], model.classifier(hidden), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_an_examples_logits_do_not_depend_on_its_batch(composition: str) -> None:
    model = classifier(composition=composition)
    inputs = inputs_of(binary_examples())
    together = model(**inputs)
    for index, tree in enumerate(binary_examples()):
        alone = model(**one(inputs, index))
        for actual, expected in (
            (together.logits[[index]], alone.logits),
            (together.leaf_logits[[index], : len(tree.words)], alone.leaf_logits),
            (together.node_logits[[index], : len(tree)], alone.node_logits),
        ):
            assert difference(actual, expected) < 1e-6
    spoilt = {**inputs, "input_ids": inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 7)}
    assert torch.equal(model(**spoilt).logits, together.logits)


def test_the_tree_matters_and_its_labels_do_not() -> None:
    model = classifier()
    before, after = (inputs_of([shape(["w"] * 6)]) for shape in (balanced, right_branching))
    assert not torch.allclose(model(**before).logits, model(**after).logits, atol=1e-4)
    for changed in (before["node_ids"] + 100, None):
        assert torch.equal(model(**{**before, "node_ids": changed}).logits, model(**before).logits)


def test_losses_of_sentences_and_of_phrases_are_means_of_cross_entropies() -> None:
    model = classifier()
    inputs = inputs_of(examples())
    leaf_targets = torch.randint(5, inputs["input_ids"].shape)
    node_targets = torch.randint(5, inputs["node_ids"].shape)
    output = model(**inputs, leaf_targets=leaf_targets, node_targets=node_targets)
    losses = []
    for index, tree in enumerate(examples()):
        for logits, targets, size in (
            (output.leaf_logits[index], leaf_targets[index], len(tree.words)),
            (output.node_logits[index], node_targets[index], len(tree)),
        ):
            losses += [-logits[k].log_softmax(-1)[targets[k]] for k in range(size)]
    torch.testing.assert_close(output.loss, torch.stack(losses).mean())
    labels = torch.tensor([0, 1, 2, 3])
    expected = torch.nn.functional.cross_entropy(output.logits, labels)
    torch.testing.assert_close(model(**inputs, labels=labels).loss, expected)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_it_learns(composition: str) -> None:
    model = classifier(composition=composition).train()
    trees = binary_examples()
    inputs, labels = inputs_of(trees), torch.arange(len(trees))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    first = model(**inputs, labels=labels).loss.item()
    for _ in range(60):
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
    assert model(**inputs, labels=labels).loss.item() < first / 4


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_a_saved_model_is_the_same_when_loaded(composition: str, tmp_path: Path) -> None:
    model = classifier(composition=composition)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    model.save_pretrained(tmp_path)
    loaded = TreeLstmForSequenceClassification.from_pretrained(tmp_path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    inputs = inputs_of(binary_examples())
    torch.testing.assert_close(loaded(**inputs).logits, model(**inputs).logits)
    assert loaded.config.composition == composition
    assert loaded.config.embedding_dim == 12


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_weights_start_as_specified(composition: str) -> None:
    model = classifier(d_model=200, embedding_dim=300, vocab_size=2000, composition=composition)
    variances = {name: p.var().item() for name, p in model.named_parameters() if p.ndim == 2}
    assert variances["encoder.embedding.weight"] == pytest.approx(1 / 300, rel=0.02)
    assert variances["encoder.words.gates.weight"] == pytest.approx(2 / 500, rel=0.02)
    assert variances["encoder.phrases.composition.gates.weight"] == pytest.approx(1 / 200, rel=0.02)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == ("forget" in name)).all(), name


def test_dropout_is_on_word_vectors_and_on_states() -> None:
    model, inputs = classifier(dropout=0.5), inputs_of(examples())

    def states() -> Tensor:
        return model.encoder(**inputs).last_hidden_state

    assert torch.equal(states(), states())
    model.train()
    assert (states()[0, 0] == 0).float().mean() == pytest.approx(0.5, abs=0.4)
    assert not torch.equal(states(), states())


def test_it_works_under_autocast_and_in_bfloat16() -> None:
    model, inputs = classifier(), inputs_of(examples())
    exact = model(**inputs).logits
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**inputs, labels=torch.arange(4))
    torch.testing.assert_close(output.logits.float(), exact, rtol=0.05, atol=0.05)
    output.loss.backward()
    torch.testing.assert_close(model.bfloat16()(**inputs).logits.float(), exact, rtol=0.05, atol=0.05)


def test_states_are_returned_when_asked_for_and_there_are_no_attentions() -> None:
    inputs = inputs_of(examples())
    output = classifier()(**inputs, output_hidden_states=True, output_attentions=True)
    (states,) = output.hidden_states
    assert states.shape == (4, inputs["input_ids"].shape[1] + inputs["node_ids"].shape[1], 16)
    assert output.attentions is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"composition": "ternary"}, "composition: expected one of child-sum, binary, got 'ternary'"),
        ({"embedding_dim": 0}, "embedding_dim: expected a whole number, at least 1, got 0"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**change)


def test_inputs_that_do_not_fit_are_refused() -> None:
    inputs = inputs_of(examples())
    with pytest.raises(ValueError, match="node_spans: expected a tensor, got None"):
        classifier()(**{**inputs, "node_spans": None})
    with pytest.raises(ValueError, match="input_ids: expected 0 to 39, got 40 to 40"):
        classifier()(**{**inputs, "input_ids": torch.full((4, 9), 40)})
    with pytest.raises(ValueError, match="node_spans: expected binarised trees"):
        classifier(composition="binary")(**inputs)


def test_the_system_is_known_by_its_name_and_sizes() -> None:
    system = SYSTEMS["tree-lstm"]
    assert size_names(system) == ["composition", "d_model", "dropout", "embedding_dim"]
    sizes = {"d_model": 8, "composition": "binary"}
    model = build(system, "classification", sizes, vocab_size=40, node_vocab_size=6, classes=["a", "b"])
    assert isinstance(model, TreeLstmForSequenceClassification)
    assert model.get_input_embeddings().weight.shape == (40, 8)
