"""Classifiers without torch answer as the model of torch does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.encoders.tiny import folder_of_files
from treeformer import Tree, TreeProcessor, TreeTransformerConfig, TreeTransformerForSequenceClassification
from treeformer.data.encoder import EncoderFacts
from treeformer.encoders import load_encoder
from treeformer.encoders.linking import window_of
from treeformer.encoders.loading import unknown_piece
from treeformer.inference.classifier import Classifier
from treeformer.inference.onnx_classifier import OnnxClassifier, quick_classifier
from treeformer.inference.onnx_trees import sinusoids
from treeformer.inference.shipped import SHIPPED, SHIPPED_OVER_ENCODER
from treeformer.inference.tree_sizes import TreeSizes
from treeformer.inference.tree_structure import TreeStructure
from treeformer.models.pretrained_words import PretrainedSettings
from treeformer.nn import embedding
from treeformer.ops import TreeBatch
from treeformer.ops.convention import branch_lengths
from treeformer.trees import balanced, left_branching, right_branching

TREES = [
    Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))))"),
    Tree.from_brackets("(X (A a))", unary="keep"),
    left_branching(tuple("abcdefgh")),
    right_branching(tuple("abcdefghijk")),
    balanced(("the", "cat") * 7),
    Tree.from_brackets("(A (B (C (x x) (y y) (z z)) (w w)) (D (v v)))", unary="keep"),
]
SIZES: dict[str, Any] = {
    "d_model": 16,
    "ffn_dim": 24,
    "encoder_layers": 2,
    "attention_heads": 2,
    "vertical_rows": 3,
    "horizontal_rows": 4,
}


def saved(folder: Path, **changes: Any) -> Path:
    """The folder of a classifier with lively random weights."""
    processor = TreeProcessor.from_trees(TREES, ["bad", "so-so", "good"])
    processor.save_pretrained(folder)
    save_model(folder, processor, **changes)
    return folder


def save_model(folder: Path, processor: TreeProcessor, **changes: Any) -> None:
    """Save a classifier with lively random weights."""
    config = TreeTransformerConfig(
        vocab_size=processor.vocab_size,
        node_vocab_size=processor.node_vocab_size,
        num_labels=3,
        **{**SIZES, **changes},
    )
    torch.manual_seed(1)
    model = TreeTransformerForSequenceClassification(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.save_pretrained(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"convention": "released"},
        {"norm": "pre"},
        {"accumulate": False},
        {"hierarchical_embeddings": False},
        {"subtree_mask": False},
        {"convention": "released", "hierarchical_embeddings": False, "norm": "pre"},
        {"vertical_rows": 1, "horizontal_rows": 1},
        {"vertical_rows": 50, "horizontal_rows": 100},
        {"node_inputs": "composed"},
        {"node_inputs": "composed", "accumulate": False, "norm": "pre"},
    ],
    ids=str,
)
def test_answers_are_those_of_the_model(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = saved(tmp_path, **changes)
    quick = quick_classifier(folder, device="cpu")
    assert isinstance(quick, OnnxClassifier)
    by_torch = Classifier.from_pretrained(folder, device="cpu")
    for answer, expected in zip(quick(TREES), by_torch(TREES), strict=True):
        assert (answer.tree, answer.text, answer.label) == (expected.tree, expected.text, expected.label)
        np.testing.assert_allclose(answer.probabilities, expected.probabilities, atol=1e-5)
        for phrase, same in zip(answer.phrases, expected.phrases, strict=True):
            assert (phrase.span, phrase.text) == (same.span, same.text)
            np.testing.assert_allclose(phrase.probabilities, same.probabilities, atol=1e-5)


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_files(tmp_path_factory.mktemp("encoder"))


def over_encoder(source: Path, folder: Path, layers: tuple[int, ...], **changes: Any) -> Path:
    """The folder of a classifier that reads words through an encoder, with lively random weights."""
    encoder = load_encoder(source)
    facts = EncoderFacts(
        source=str(source),
        sha256=encoder.sha256,
        layers=layers,
        window=window_of(encoder.model, encoder.tokenizer),
        unknown=unknown_piece(encoder.tokenizer),
    )
    plain = TreeProcessor.from_trees(TREES, ["bad", "so-so", "good"])
    processor = TreeProcessor(plain.vocabulary, plain.settings.model_copy(update={"encoder": facts}))
    processor.save_pretrained(folder)
    pretrained = PretrainedSettings.of(encoder, train="frozen", layers=layers)
    save_model(folder, processor, pretrained=pretrained.model_dump(mode="json"), **changes)
    return folder


@pytest.mark.parametrize("layers", [(2,), (0, 1, 2)])
def test_words_may_come_from_an_encoder(
    layers: tuple[int, ...], encoder_folder: Path, tmp_path: Path
) -> None:
    folder = over_encoder(encoder_folder, tmp_path, layers, node_inputs="composed")
    long = left_branching(("unbelievable", "film") * 150)  # pieces in several windows
    quick = quick_classifier(folder, device="cpu")
    assert isinstance(quick, OnnxClassifier)
    by_torch = Classifier.from_pretrained(folder, device="cpu")
    for answer, expected in zip(quick([*TREES, long]), by_torch([*TREES, long]), strict=True):
        assert (answer.tree, answer.label) == (expected.tree, expected.label)
        for phrase, same in zip(answer.phrases, expected.phrases, strict=True):
            np.testing.assert_allclose(phrase.probabilities, same.probabilities, atol=1e-4)


def test_an_encoder_that_has_changed_is_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "encoder")
    folder = over_encoder(copy, tmp_path / "model", (1,))
    config = copy / "config.json"
    config.write_text(config.read_text() + " ")
    with pytest.raises(ValueError, match="expected the encoder with SHA-256"):
        quick_classifier(folder, device="cpu")(["A film."])


def test_company_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["A fine film.", "Dull.", "The plot is dull, but the actors save it. " * 3] * 4
    classifier = quick_classifier(SHIPPED, device="cpu")
    alone = [classifier([text])[0] for text in texts]
    monkeypatch.setattr("treeformer.inference.onnx_classifier.threads", lambda: 3)
    monkeypatch.setattr("treeformer.inference.onnx_classifier._TOKENS", 60)
    for answer, expected in zip(classifier(texts), alone, strict=True):
        assert (answer.text, answer.label, answer.tree) == (expected.text, expected.label, expected.tree)
        np.testing.assert_allclose(answer.probabilities, expected.probabilities, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"leaf_inputs": "context"}, {}),
        ({}, {"bf16": True}),
    ],
    ids=str,
)
def test_what_needs_torch_is_answered_by_torch(
    changes: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    classifier = quick_classifier(saved(tmp_path, **changes), device="cpu", **options)
    assert isinstance(classifier, Classifier)
    assert classifier(TREES)[0].label in ("bad", "so-so", "good")


def test_a_damaged_folder_is_refused_with_the_same_message(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    (folder / "checksums.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    for change in ({"ffn_dim": 25}, {"vocab_size": 4}, {"attention_heads": 3}, {"norm": "none"}):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        messages = []
        for load in (quick_classifier, Classifier.from_pretrained):
            with pytest.raises(ValueError, match=r"expected|not of one model") as caught:
                load(folder, device="cpu")
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attention_dropout", True),
        ("dropout", 1.0),
        ("d_model", True),
        ("attention_heads", 3),
        ("pad_token_id", 8),
        ("use_cache", "yes"),
        ("id2label", {"0": "bad", "": "good"}),
        ("id2label", {"0": "bad", "1": 2}),
        ("label2id", {"bad": "0"}),
        ("new", 1),
        ("pretrained", []),
        ("pretrained.config", []),
        ("pretrained.layers", [6, {}]),
        ("pretrained.layers", []),
        ("pretrained.width", 1.5),
        ("pretrained.new", 1),
    ],
    ids=str,
)
def test_a_config_that_training_does_not_write_is_left_to_torch(key: str, value: Any) -> None:
    config = json.loads((SHIPPED_OVER_ENCODER / "config.json").read_text())
    assert TreeSizes.of(config) is not None
    part, _, name = key.rpartition(".")
    (config[part] if part else config)[name] = value
    assert TreeSizes.of(config) is None


def test_a_config_with_other_labels_than_the_weights_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path) / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "id2label": {"0": "bad", "1": "good"}}))
    (tmp_path / "checksums.json").unlink()
    with pytest.raises(ValueError, match=r"tensor classifier\.bias has the shape \[3\], expected \[2\]"):
        quick_classifier(tmp_path, device="cpu")


def test_the_model_of_the_package_needs_no_torch() -> None:
    classifier = quick_classifier(SHIPPED, device="cpu")
    assert isinstance(classifier, OnnxClassifier)
    expected = Classifier.from_pretrained(SHIPPED, device="cpu")(["The plot is dull."])[0]
    answer = classifier(["The plot is dull."])[0]
    assert (answer.label, answer.model) == (expected.label, expected.model)


@pytest.mark.parametrize("convention", ["paper", "released"])
def test_the_structure_is_that_of_a_tree_batch(convention: Any) -> None:
    batch = TreeBatch.from_trees(TREES)
    trees = TreeStructure.of(batch.spans.numpy(), batch.leaf_mask.numpy(), batch.node_mask.numpy())
    for name in ("covers", "subtree", "node_depths", "branch_sizes"):
        np.testing.assert_array_equal(getattr(trees, name), getattr(batch, name).numpy())
    lengths = branch_lengths(batch, convention) * batch.leaf_counts[..., None]
    expected = lengths.double().reciprocal().masked_fill(~batch.covers, 0)
    np.testing.assert_allclose(trees.scales(convention), expected, rtol=1e-6)
    assert ((trees.bias(subtree=True)[:, 0] == 0) == batch.visible.numpy()).all()
    assert ((trees.bias(subtree=False)[:, 0, 0] == 0) == batch.mask.numpy()).all()


def test_positions_are_those_of_the_model() -> None:
    expected = embedding.sinusoids(torch.arange(300), 18)
    np.testing.assert_allclose(sinusoids(300, 18), expected, atol=1e-4)
