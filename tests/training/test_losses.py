"""Losses against slow literal versions."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.models.inputs import examples, inputs_of, plain, tree_config
from treeformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
)
from treeformer.training.losses import (
    cross_entropy_sum,
    divergence_sum,
    logits_and_targets,
    loss_sum,
    with_unknown_words,
)

SIZES = {"vocab_size": 40, "d_model": 16, "encoder_layers": 1, "attention_heads": 2, "ffn_dim": 24}


def literal_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> float:
    """The loss of each target and class, added up one by one."""
    total = 0.0
    classes = logits.shape[-1]
    for row, target in zip(logits.reshape(-1, classes).tolist(), targets.flatten().tolist(), strict=True):
        if target == -100:
            continue
        norm = math.log(sum(math.exp(score) for score in row))
        for number, score in enumerate(row):
            wanted = smoothing / classes + (1 - smoothing) * (number == target)
            total -= wanted * (score - norm)
    return total


def literal_divergence(one: Tensor, other: Tensor, targets: Tensor) -> float:
    total = 0.0
    for p_row, q_row, target in zip(
        one.flatten(0, -2).softmax(-1).tolist(),
        other.flatten(0, -2).softmax(-1).tolist(),
        targets.flatten().tolist(),
        strict=True,
    ):
        if target != -100:
            pairs = list(zip(p_row, q_row, strict=True))
            total += sum(p * math.log(p / q) for p, q in pairs) / 2
            total += sum(q * math.log(q / p) for p, q in pairs) / 2
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_smoothed_cross_entropy_is_the_literal_sum_over_targets(smoothing: float) -> None:
    torch.manual_seed(1)
    logits = torch.randn(3, 5, 7, dtype=torch.float64)
    targets = torch.randint(7, (3, 5)).masked_fill(torch.rand(3, 5) < 0.3, -100)
    expected = literal_cross_entropy(logits, targets, smoothing)
    assert cross_entropy_sum(logits, targets, smoothing).item() == pytest.approx(expected)


def test_divergence_is_the_literal_sum_over_targets() -> None:
    torch.manual_seed(1)
    one, other = torch.randn(2, 3, 5, 7, dtype=torch.float64)
    targets = torch.randint(7, (3, 5)).masked_fill(torch.rand(3, 5) < 0.3, -100)
    assert divergence_sum(one, other, targets).item() == pytest.approx(
        literal_divergence(one, other, targets)
    )
    assert divergence_sum(one, one, targets).item() == 0


def test_r_drop_is_half_the_papers_loss_with_two_dropouts() -> None:
    torch.manual_seed(1)
    model = TransformerForSequenceClassification(TransformerConfig(**SIZES, num_labels=3, dropout=0.4))
    batch = {**plain(inputs_of(examples())), "labels": torch.tensor([0, 2, -100, 1])}
    torch.manual_seed(2)
    loss, count = loss_sum(model, batch, smoothing=0.1, r_drop=5.0)
    torch.manual_seed(2)
    twice = {name: torch.cat([tensor, tensor]) for name, tensor in plain(inputs_of(examples())).items()}
    one, other = model(**twice).logits.double().chunk(2)
    assert not torch.allclose(one, other)
    targets = batch["labels"]
    expected = literal_cross_entropy(one, targets, 0.1) + literal_cross_entropy(other, targets, 0.1)
    expected += 5.0 * literal_divergence(one, other, targets)
    assert count == 3
    assert loss.item() == pytest.approx(expected / 2, rel=1e-5)


def test_without_dropout_r_drop_changes_nothing() -> None:
    model = TransformerForSequenceClassification(TransformerConfig(**SIZES, num_labels=3, dropout=0.0))
    batch = {**plain(inputs_of(examples())), "labels": torch.tensor([0, 2, -100, 1])}
    assert loss_sum(model, batch, r_drop=5.0)[0].item() == pytest.approx(loss_sum(model, batch)[0].item())


def test_word_dropout_replaces_a_share_of_the_words_and_nothing_else() -> None:
    torch.manual_seed(1)
    ids = torch.randint(40, (50, 40))
    batch = {"input_ids": ids, "labels": torch.arange(50)}
    read = with_unknown_words(batch, 0.2)
    changed = read["input_ids"] != ids
    assert set(read["input_ids"][changed].tolist()) == {3}
    assert not changed[ids <= 3].any()
    assert changed[ids > 3].float().mean().item() == pytest.approx(0.2, abs=0.04)
    assert read["labels"] is batch["labels"]
    assert not torch.equal(read["input_ids"], with_unknown_words(batch, 0.2)["input_ids"])
    assert with_unknown_words(batch, 0.0)["input_ids"] is ids


@pytest.mark.parametrize("r_drop", [0.0, 2.0])
def test_the_loss_is_computed_from_the_words_that_are_kept(r_drop: float) -> None:
    model = TransformerForSequenceClassification(TransformerConfig(**SIZES, num_labels=3, dropout=0.0))
    batch = {**plain(inputs_of(examples())), "labels": torch.tensor([0, 2, -100, 1])}
    torch.manual_seed(3)
    loss, count = loss_sum(model, batch, r_drop=r_drop, word_dropout=0.5)
    torch.manual_seed(3)
    halves = 2 if r_drop else 1  # R-Drop reads the batch twice, each time without other words
    ids = torch.cat([batch["input_ids"]] * halves)
    left = ids.masked_fill((torch.rand(ids.shape) < 0.5) & (ids > 3), 3)
    parts = [model(**{**batch, "input_ids": part}).logits for part in left.chunk(halves)]
    expected = sum(literal_cross_entropy(part, batch["labels"], 0.0) for part in parts)
    if r_drop:
        assert not torch.equal(*left.chunk(2))
        expected += r_drop * literal_divergence(*parts, batch["labels"])
    assert count == 3
    assert loss.item() == pytest.approx(expected / halves, rel=1e-5)


def test_a_tree_classifier_has_targets_of_phrases_or_sentences() -> None:
    model = TreeTransformerForSequenceClassification(tree_config(num_labels=3)).eval()
    inputs = inputs_of(examples())
    shape = {"leaf_targets": inputs["input_ids"].shape, "node_targets": inputs["node_ids"].shape}
    batch = {**inputs, "labels": torch.tensor([0, 2, -100, 1])}
    logits, targets = logits_and_targets(model, batch)
    assert logits.shape == (4, 3)
    assert torch.equal(targets, batch["labels"])
    phrases = {name: torch.randint(3, size) for name, size in shape.items()}
    logits, targets = logits_and_targets(model, {**batch, **phrases})
    assert logits.shape[:2] == targets.shape == (4, sum(size[1] for size in shape.values()))
    assert torch.equal(targets[:, : shape["leaf_targets"][1]], phrases["leaf_targets"])
    logits, targets = logits_and_targets(model, {**batch, **phrases}, sentences=True)
    assert torch.equal(targets, batch["labels"])
    with pytest.raises(ValueError, match="batch: expected labels or node_targets, got neither"):
        logits_and_targets(model, inputs)


@pytest.mark.parametrize("reads", ["trees", "words"])
def test_the_mean_loss_is_the_loss_that_the_model_returns(reads: str) -> None:
    inputs = inputs_of(examples())
    labels = torch.randint(4, 40, (4, 5)).masked_fill(torch.arange(5) > torch.arange(4)[:, None] + 1, -100)
    if reads == "trees":
        model = TreeTransformerForConditionalGeneration(tree_config())
    else:
        config = TransformerConfig(**SIZES, decoder_layers=1, dropout=0.0)
        model, inputs = TransformerForConditionalGeneration(config), plain(inputs)
    loss, count = loss_sum(model, {**inputs, "labels": labels})
    assert count == 2 + 3 + 4 + 5
    assert (loss / count).item() == pytest.approx(model(**inputs, labels=labels).loss.item(), rel=1e-5)
