"""An update does not depend on how it is split into parts, and equals that of plain torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.encoders.tiny import folder_of_files
from tests.models.inputs import examples, inputs_of, tree_config
from treeformer import TreeTransformerForSequenceClassification
from treeformer.encoders import load_encoder
from treeformer.models.pretrained_words import PretrainedSettings, pretrained_part
from treeformer.models.systems import SYSTEMS, build
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater


def settings(**changes: object) -> TrainingRecipe:
    return TrainingRecipe.model_validate({"updates": 9, "tokens": 99, "learning_rate": 0.01, **changes})


def model_of(**changes: object) -> TreeTransformerForSequenceClassification:
    torch.manual_seed(3)
    return TreeTransformerForSequenceClassification(tree_config(num_labels=3, **changes)).train()


def batch_of() -> dict[str, Tensor]:
    inputs = inputs_of(examples())
    generator = torch.Generator().manual_seed(5)
    targets = {
        name: torch.randint(3, inputs[like].shape, generator=generator).masked_fill(inputs[mask] == 0, -100)
        for name, like, mask in (
            ("leaf_targets", "input_ids", "attention_mask"),
            ("node_targets", "node_ids", "node_mask"),
        )
    }
    targets["leaf_targets"][0] = -100  # parts with different numbers of targets
    return {**inputs, **targets}


def rows(batch: dict[str, Tensor], *wanted: int) -> dict[str, Tensor]:
    return {name: tensor[list(wanted)] for name, tensor in batch.items()}


def weights_after(
    parts: list[dict[str, Tensor]],
    training: TrainingRecipe,
    updates: int = 3,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    model = model_of().to(dtype)
    updater = Updater(model, training)
    for _ in range(updates):
        for part in parts:
            updater.add(part)
        updater.step(0.01)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("changes", [{}, {"clip": 0.1, "label_smoothing": 0.1, "weight_decay": 0.1}])
def test_an_update_does_not_depend_on_its_parts(changes: dict[str, float]) -> None:
    batch, training = batch_of(), settings(**changes)
    whole = weights_after([batch], training)
    for parts in ([[0, 1], [2, 3]], [[3], [0, 2], [1]]):
        torch.testing.assert_close(weights_after([rows(batch, *part) for part in parts], training), whole)
    assert not torch.allclose(weights_after([rows(batch, 0, 1)], training), whole)


def test_an_update_is_that_of_plain_torch() -> None:
    batch = batch_of()
    training = settings(clip=0.1, label_smoothing=0.1, weight_decay=0.1)
    model = model_of().double()
    linear = {module.weight for module in model.modules() if isinstance(module, torch.nn.Linear)}
    others = [parameter for parameter in model.parameters() if parameter not in linear]
    optimizer = torch.optim.AdamW(
        [{"params": [*linear], "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=0.01,
        betas=(0.9, 0.98),
        eps=1e-8,
        fused=False,
    )
    targets = torch.cat([batch["leaf_targets"], batch["node_targets"]], dim=1)
    inputs = {name: tensor for name, tensor in batch.items() if "targets" not in name}
    for _ in range(3):
        output = model(**inputs)
        logits = torch.cat([output.leaf_logits, output.node_logits], dim=1)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    expected = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    torch.testing.assert_close(weights_after([batch], training), expected)


def test_biases_norms_and_embeddings_do_not_decay() -> None:
    model = model_of()
    updater = Updater(model, settings(weight_decay=0.5))
    decayed = {
        id(parameter)
        for group in updater.optimizer.param_groups
        if group["weight_decay"]
        for parameter in group["params"]
    }
    names = {name for name, parameter in model.named_parameters() if id(parameter) in decayed}
    assert "classifier.weight" in names
    assert "encoder.stack.layers.0.attention.input.weight" in names
    assert not [name for name in names if "bias" in name or "norm" in name or "embedding" in name]
    assert not [name for name in names if "vertical" in name or "horizontal" in name]


def test_totals_give_the_mean_loss_and_are_reset_when_taken() -> None:
    batch = batch_of()
    model = model_of()
    updater = Updater(model, settings())
    inputs = {name: tensor for name, tensor in batch.items() if "targets" not in name}
    targets = {name: tensor for name, tensor in batch.items() if "targets" in name}
    expected = model(**inputs, **targets).loss.item()
    for part in (rows(batch, 0, 1), rows(batch, 2, 3)):
        updater.add(part)
    updater.step(0.01)
    totals = updater.take_totals()
    assert totals.loss / totals.targets == pytest.approx(expected, rel=1e-5)
    assert totals.updates == 1
    assert totals.norm > 0
    assert updater.take_totals() == (0, 0, 0, 0)
    assert not updater.gradients.any()


def test_bf16_computes_coarsely_and_keeps_weights_exact() -> None:
    batch = batch_of()
    fine, coarse = (weights_after([batch], settings(bf16=bf16), 1, torch.float32) for bf16 in (False, True))
    assert coarse.dtype == torch.float32
    assert not torch.equal(fine, coarse)
    updater = Updater(model_of(), settings(bf16=True))
    updater.add(batch)
    exact = Updater(model_of(), settings())
    exact.add(batch)
    near = F.cosine_similarity(updater.gradients, exact.gradients, dim=0)
    assert near > 0.99


def test_an_update_without_targets_keeps_the_weights_finite() -> None:
    batch = batch_of()
    batch = {**batch, **{name: torch.full_like(batch[name], -100) for name in batch if "targets" in name}}
    assert weights_after([batch], settings()).isfinite().all()


def test_a_trained_encoder_has_its_own_rate(tmp_path: Path) -> None:
    encoder = load_encoder(folder_of_files(tmp_path))
    settings_of_encoder = PretrainedSettings.of(encoder, train="all", layers=(1, 2))
    model = build(
        SYSTEMS["linear"],
        "classification",
        {"dropout": 0.0, "hidden": True, "d_model": 8},
        vocab_size=40,
        node_vocab_size=6,
        classes="abc",
        pretrained=settings_of_encoder,
    )
    part = pretrained_part(model)
    assert part is not None
    part.attach(encoder)
    updater = Updater(model, settings(weight_decay=0.5), encoder_rate=1e-4)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    pieces = torch.tensor([[[2, 13, 14, 30, 3]]])
    updater.add(
        {
            "input_ids": torch.full((1, 3), 3),
            "node_spans": torch.tensor([[[0, 3]]]),
            "node_mask": torch.ones(1, 1),
            "piece_ids": pieces,
            "piece_mask": torch.ones_like(pieces),
            "piece_words": torch.tensor([[[-1, 0, 1, 2, -1]]]),
            "labels": torch.tensor([1]),
        }
    )
    updater.step(0.005)  # half of the highest rate
    for name, parameter in model.named_parameters():
        rate = 5e-5 if "network" in name else 5e-3
        decays = parameter.ndim == 2 and "embeddings" not in name
        change = parameter.detach() - before[name] * (1 - rate * 0.5 if decays else 1)
        assert change.abs().max() <= rate * 1.01, name
    bias = "encoder.pretrained.network.encoder.layer.0.output.dense.bias"
    assert (model.state_dict()[bias] - before[bias]).abs().max() > 4e-5
