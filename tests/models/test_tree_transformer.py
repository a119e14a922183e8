"""What the Tree Transformer can and cannot see, and that it learns, saves and loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.closeness import difference
from tests.models.inputs import examples, inputs_of, one, tree_config
from tests.nn.recursion import composed_nodes, words_with_context
from tests.trees.strategies import trees
from treeformer import (
    Tree,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
)
from treeformer.models.pretrained import PreTrained
from treeformer.nn import sinusoids
from treeformer.trees import balanced, right_branching

COMPOSED = {"node_inputs": "composed"}
CONTEXT = {**COMPOSED, "leaf_inputs": "context"}


def classifier(**changes: object) -> TreeTransformerForSequenceClassification:
    torch.manual_seed(0)
    return TreeTransformerForSequenceClassification(tree_config(num_labels=5, **changes)).eval()


def states_of(
    model: TreeTransformerForSequenceClassification, inputs: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Last states of leaves and of nodes."""
    states = model.encoder(**inputs).last_hidden_state
    n = inputs["input_ids"].shape[1]
    return states[:, :n], states[:, n:]


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, COMPOSED, CONTEXT])
def test_replacing_the_tree_leaves_the_leaf_states_unchanged(changes: dict[str, object]) -> None:
    model = classifier(**changes)
    words = ["w"] * 6
    before, after = (inputs_of([tree]) for tree in (balanced(words), right_branching(words)))
    leaves, nodes = zip(*(states_of(model, inputs) for inputs in (before, after)), strict=True)
    assert torch.equal(*leaves)
    assert not torch.allclose(nodes[0][:, -1], nodes[1][:, -1])


@given(tree=trees(max_leaves=8), data=st.data(), node_inputs=st.sampled_from(["label", "composed"]))
@settings(max_examples=40)
def test_relabelling_a_node_changes_it_and_its_ancestors_and_nothing_else(
    tree: Tree, data: st.DataObject, node_inputs: str
) -> None:
    model = classifier(node_inputs=node_inputs).double()
    chosen = data.draw(st.integers(0, len(tree) - 1))
    inputs = inputs_of([tree])
    leaves, nodes = states_of(model, inputs)
    inputs["node_ids"][0, chosen] = (inputs["node_ids"][0, chosen] + 1) % 6
    new_leaves, new_nodes = states_of(model, inputs)
    assert torch.equal(leaves, new_leaves)
    touched, above = set(), chosen
    while above >= 0:
        touched.add(above)
        above = tree.parents[above]
    changed = (nodes - new_nodes)[0].abs().amax(1) > 1e-12
    assert set(changed.nonzero().flatten().tolist()) == touched


def test_moving_one_bracket_changes_the_root() -> None:
    before = Tree.from_brackets("(S (NP (D a) (N b)) (VP (V c) (P d)))")
    after = Tree.from_brackets("(S (NP (D a) (N b) (V c)) (VP (P d)))", unary="keep")
    assert len(before) == len(after)
    model = classifier()
    roots = [model(**inputs_of([tree])).logits for tree in (before, after)]
    assert not torch.allclose(*roots, atol=1e-4)


def test_without_the_subtree_mask_nodes_of_one_label_share_one_state_in_every_layer() -> None:
    inputs = inputs_of([balanced(["w"] * 7)])
    inputs["node_ids"] = torch.tensor([[1, 2, 1, 3, 2, 1]])
    shared = classifier(subtree_mask=False).encoder(**inputs, output_hidden_states=True).hidden_states
    for states in shared:
        for same in ([0, 2, 5], [1, 4]):
            nodes = states[0, 7:][same]
            torch.testing.assert_close(nodes, nodes[:1].expand_as(nodes), rtol=0, atol=1e-5)
    masked = classifier().encoder(**inputs).last_hidden_state[0, 7:]
    assert not torch.allclose(masked[0], masked[2], atol=1e-3)


@pytest.mark.parametrize(
    "changes", [{}, {"convention": "released", "norm": "pre"}, {"subtree_mask": False}, COMPOSED, CONTEXT]
)
def test_an_examples_logits_do_not_depend_on_its_batch(changes: dict[str, object]) -> None:
    model = classifier(**changes)
    inputs = inputs_of(examples())
    together = model(**inputs)
    for index, tree in enumerate(examples()):
        alone = model(**one(inputs, index))
        pairs = [
            (together.logits[[index]], alone.logits),
            (together.leaf_logits[[index], : len(tree.words)], alone.leaf_logits),
            (together.node_logits[[index], : len(tree)], alone.node_logits),
        ]
        for actual, expected in pairs:
            assert difference(actual, expected) < 1e-6
    order = [2, 0, 3, 1]
    shuffled = model(**{name: tensor[order] for name, tensor in inputs.items()})
    assert difference(shuffled.logits, together.logits[order]) < 1e-6
    changed_padding = {
        **inputs,
        "input_ids": inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 7),
        "node_ids": inputs["node_ids"].masked_fill(inputs["node_mask"] == 0, 5),
    }
    assert torch.equal(model(**changed_padding).logits, together.logits)


def test_the_sentence_is_read_at_the_root() -> None:
    model = classifier()
    output = model(**inputs_of(examples()))
    for index, tree in enumerate(examples()):
        assert torch.equal(output.logits[index], output.node_logits[index, len(tree) - 1])


def test_the_phrase_loss_is_the_mean_over_all_targets() -> None:
    model = classifier()
    inputs = inputs_of(examples())
    leaf_targets = torch.randint(5, inputs["input_ids"].shape)
    node_targets = torch.randint(5, inputs["node_ids"].shape)
    node_targets[0, 1] = -100
    output = model(**inputs, leaf_targets=leaf_targets, node_targets=node_targets)
    losses = []
    for index, tree in enumerate(examples()):
        for logits, targets, size in (
            (output.leaf_logits[index], leaf_targets[index], len(tree.words)),
            (output.node_logits[index], node_targets[index], len(tree)),
        ):
            losses += [-logits[k].log_softmax(-1)[targets[k]] for k in range(size) if targets[k] >= 0]
    torch.testing.assert_close(output.loss, torch.stack(losses).mean())
    nodes_only = model(**inputs, node_targets=node_targets).loss
    assert not torch.allclose(nodes_only, output.loss)
    roots = torch.stack([node_targets[index, len(tree) - 1] for index, tree in enumerate(examples())])
    expected = torch.nn.functional.cross_entropy(output.logits, roots)
    torch.testing.assert_close(model(**inputs, labels=roots).loss, expected)


@pytest.mark.parametrize(
    "changes", [{}, {"norm": "pre"}, {"convention": "released"}, {"accumulate": False}, COMPOSED, CONTEXT]
)
def test_it_learns(changes: dict[str, object]) -> None:
    model = classifier(**changes).train()
    inputs, labels = inputs_of(examples()), torch.tensor([0, 1, 2, 3])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    first = model(**inputs, labels=labels).loss.item()
    for _ in range(40):
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
    assert model(**inputs, labels=labels).loss.item() < first / 4


@pytest.mark.parametrize("layers", [(1, 3), (3, 1)])
def test_more_or_fewer_decoder_than_encoder_layers_work(layers: tuple[int, int], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = TreeTransformerForConditionalGeneration(
        tree_config(encoder_layers=layers[0], decoder_layers=layers[1])
    ).eval()
    inputs = inputs_of(examples())
    model(**inputs, labels=torch.randint(4, 40, (4, 5))).loss.backward()
    assert all(p.grad is not None and p.grad.abs().any() for p in model.parameters())
    assert (
        len(model(**inputs, labels=torch.ones(4, 5).long(), output_attentions=True).cross_attentions)
        == layers[1]
    )
    generated = model.generate(**inputs, num_beams=2, max_new_tokens=4)
    model.save_pretrained(tmp_path)
    loaded = TreeTransformerForConditionalGeneration.from_pretrained(tmp_path)
    assert torch.equal(loaded.generate(**inputs, num_beams=2, max_new_tokens=4), generated)


def test_a_saved_classifier_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = classifier(id2label={0: "--", 1: "-", 2: "0", 3: "+", 4: "++"}, horizontal_rows=7)
    model.save_pretrained(tmp_path)
    names = ["checksums.json", "config.json", "model.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    loaded = TreeTransformerForSequenceClassification.from_pretrained(tmp_path)
    inputs = inputs_of(examples())
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)
    assert loaded.config.id2label[4] == "++"
    assert loaded.config.horizontal_rows == 7


def test_attentions_and_leaf_weights_are_returned_when_asked_for() -> None:
    inputs = inputs_of(examples())
    n, m = inputs["input_ids"].shape[1], inputs["node_ids"].shape[1]
    output = classifier()(**inputs, output_attentions=True, output_hidden_states=True)
    assert [tuple(a.shape) for a in output.attentions] == [(4, 2, n + m, n + m)] * 2
    assert [tuple(w.shape) for w in output.leaf_weights] == [(4, 1, n)] * 2
    assert len(output.hidden_states) == 3
    translator = TreeTransformerForConditionalGeneration(tree_config()).eval()
    output = translator(**inputs, labels=torch.ones(4, 3).long(), output_attentions=True)
    assert [tuple(a.shape) for a in output.cross_attentions] == [(4, 2, 3, n + m)] * 2
    assert [tuple(w.shape) for w in output.cross_leaf_weights] == [(4, 1, n)] * 2
    assert not output.cross_attentions[0][1, :, :, n + 2 :].any()  # the second tree has two nodes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_spans": None}, "node_spans: expected a tensor, got None"),
        ({"node_ids": None}, "node_ids: expected a tensor, got None"),
        ({"node_ids": torch.full((4, 8), 6)}, "node_ids: expected 0 to 5, got 0 to 6"),
        ({"node_ids": torch.full((4, 8), -1)}, "node_ids: expected 0 to 5, got -1 to 0"),
        ({"input_ids": torch.full((4, 9), 40)}, "input_ids: expected 0 to 39, got 40 to 40"),
        ({"node_ids": torch.zeros(4, 1).long()}, r"node_ids: expected a shape .* got \[4, 1\]"),
        ({"node_mask": torch.ones(4, 1)}, "node_mask: expected the shape"),
        ({"node_spans": torch.zeros(4, 8, 2).long()}, "node_spans: expected 0 <= start < end"),
        (
            {"attention_mask": torch.ones(4, 9).flip(1).cumsum(1).gt(3)},
            "attention_mask: expected tokens first",
        ),
        ({"labels": torch.zeros(3).long()}, r"labels: expected a shape \[4\], got \[3\]"),
        ({"leaf_targets": torch.zeros(4, 2).long()}, "leaf_targets: expected a shape"),
        ({"labels": torch.zeros(4).long(), "leaf_targets": torch.zeros(4, 9).long()}, "got both"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, Tensor], message: str) -> None:
    inputs = {**inputs_of(examples()), **change}
    with pytest.raises(ValueError, match=message):
        classifier()(**inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": "both"}, "norm: expected one of post, pre, got 'both'"),
        ({"convention": "papers"}, "convention: expected one of paper, released, got 'papers'"),
        ({"node_inputs": "labels"}, "node_inputs: expected one of label, composed, got 'labels'"),
        ({"leaf_inputs": "words"}, "leaf_inputs: expected one of word, context, got 'words'"),
        ({"attention_heads": 3}, "heads: expected a divisor of d_model 16, got 3"),
        ({"d_model": 0}, "d_model: expected a whole number, at least 1, got 0"),
        ({"vocab_size": "40"}, "vocab_size: expected a whole number, at least 1, got '40'"),
        ({"vertical_rows": 0}, "vertical_rows: expected a whole number, at least 1, got 0"),
        ({"attention_dropout": 2.0}, "attention_dropout: expected a rate from 0 to less than 1, got 2.0"),
        ({"pad_token_id": 43}, "pad_token_id: expected 0 to 39, got 43"),
    ],
)
def test_a_config_with_an_unknown_choice_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**change)


def test_leaves_have_positions_and_nodes_have_none() -> None:
    model, inputs = classifier(), inputs_of(examples())
    n = inputs["input_ids"].shape[1]
    states = model.encoder(**inputs, output_hidden_states=True).hidden_states[0]
    table = model.get_input_embeddings().weight * 4  # √16
    leaves = table[inputs["input_ids"]] + sinusoids(torch.arange(n), 16)
    torch.testing.assert_close(states[:, :n], leaves)
    torch.testing.assert_close(states[:, n:], table[40 + inputs["node_ids"]])


def test_composed_nodes_enter_the_first_layer_in_place_of_labels() -> None:
    model, inputs = classifier(**COMPOSED), inputs_of(examples())
    n = inputs["input_ids"].shape[1]
    states = model.encoder(**inputs, output_hidden_states=True).hidden_states[0]
    table = model.get_input_embeddings().weight * 4  # √16
    words, labels = table[inputs["input_ids"]], table[40 + inputs["node_ids"]]
    torch.testing.assert_close(states[:, :n], words + sinusoids(torch.arange(n), 16))
    for index, tree in enumerate(examples()):
        expected = composed_nodes(tree, words[index], labels[index], model.encoder.composition.cell)
        torch.testing.assert_close(states[index, n : n + len(tree)], expected)


def test_words_with_context_enter_composition_and_the_first_layer() -> None:
    model, inputs = classifier(**CONTEXT), inputs_of(examples())
    n = inputs["input_ids"].shape[1]
    states = model.encoder(**inputs, output_hidden_states=True).hidden_states[0]
    table = model.get_input_embeddings().weight * 4  # √16
    labels = table[40 + inputs["node_ids"]]
    for index, tree in enumerate(examples()):
        words = table[inputs["input_ids"][index, : len(tree.words)]]
        leaves = words_with_context(words, model.encoder.context)
        expected = leaves + sinusoids(torch.arange(n), 16)[: len(leaves)]
        torch.testing.assert_close(states[index, : len(leaves)], expected)
        expected = composed_nodes(tree, leaves, labels[index], model.encoder.composition.cell)
        torch.testing.assert_close(states[index, n : n + len(tree)], expected)


@pytest.mark.parametrize(
    "model_class", [TreeTransformerForSequenceClassification, TreeTransformerForConditionalGeneration]
)
def test_composition_adds_its_cell_and_nothing_else(model_class: type[PreTrained]) -> None:
    label, composed = (model_class(tree_config(**changes)) for changes in ({}, COMPOSED))
    names = [dict(model.named_parameters()).keys() for model in (label, composed)]
    assert all(name.startswith("encoder.composition.cell.") for name in names[1] - names[0])
    cell = composed.encoder.composition.cell
    assert cell.gates.weight.shape == (4 * 16, 2 * 16)
    assert sum(p.numel() for p in cell.parameters()) == 3 * 16 * 32 + 32 + 32 * 64 + 64 + 2 * 16
    assert not names[0] - names[1]


def test_a_saved_composed_classifier_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = classifier(**CONTEXT)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    model.save_pretrained(tmp_path)
    loaded = TreeTransformerForSequenceClassification.from_pretrained(tmp_path)
    assert (loaded.config.node_inputs, loaded.config.leaf_inputs) == ("composed", "context")
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    inputs = inputs_of(examples())
    torch.testing.assert_close(loaded(**inputs).logits, model(**inputs).logits)


def test_a_config_without_node_inputs_is_one_of_labels(tmp_path: Path) -> None:
    model = classifier()
    model.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["node_inputs"], config["leaf_inputs"]
    path.write_text(json.dumps(config))
    (tmp_path / "checksums.json").unlink()
    loaded = TreeTransformerForSequenceClassification.from_pretrained(tmp_path)
    assert (loaded.config.node_inputs, loaded.config.leaf_inputs) == ("label", "word")
    inputs = inputs_of(examples())
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)


def test_weights_of_the_composition_start_by_xavier() -> None:
    cell = classifier(**COMPOSED, d_model=128).encoder.composition.cell
    for linear, fan in ((cell.children_in, 3 + 2), (cell.label_in, 3 + 2), (cell.gates, 2 + 4)):
        assert linear.weight.var().item() == pytest.approx(2 / (fan * 128), rel=0.05)
    assert not cell.bias.any()
    assert not cell.gates.bias.any()
    assert (cell.norm.weight == 1).all()


def test_tables_have_the_sizes_of_the_config() -> None:
    model = TreeTransformerForConditionalGeneration(tree_config(vertical_rows=7, horizontal_rows=9))
    for name, rows in (("vertical", 7), ("horizontal", 9)):
        shapes = [p.shape for path, p in model.named_parameters() if path.endswith(f".{name}")]
        assert shapes == [(rows, 4)] * 4


def test_embeddings_have_dropout_in_training() -> None:
    model, inputs = classifier(dropout=0.5), inputs_of(examples())

    def embedded() -> Tensor:
        return model.encoder(**inputs, output_hidden_states=True).hidden_states[0]

    assert torch.equal(embedded(), embedded())
    model.train()
    assert not torch.equal(embedded(), embedded())


def test_the_table_of_a_tree_model_cannot_grow() -> None:
    with pytest.raises(NotImplementedError, match="tokens and labels"):
        classifier().resize_token_embeddings(50)


def test_a_target_with_another_number_of_examples_is_refused() -> None:
    model = TreeTransformerForConditionalGeneration(tree_config())
    with pytest.raises(ValueError, match="expected 4 examples as in the source, got 3"):
        model(**inputs_of(examples()), labels=torch.ones(3, 5).long())
