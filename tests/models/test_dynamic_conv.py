"""Dynamic Conv: what its states depend on, batches, saving, learning, and sizes that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.closeness import difference
from tests.models.inputs import SIZES, examples, inputs_of, learns_to_copy, one, plain
from tests.training.corpora import TRAINING, experiment, metrics, translation
from treeformer import (
    DynamicConvConfig,
    DynamicConvForConditionalGeneration,
    DynamicConvForSequenceClassification,
)
from treeformer.models.systems import load
from treeformer.nn import DynamicConvolution, LightweightConvolution
from treeformer.progress import Progress
from treeformer.training.loop import train
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater


def translator(**changes: object) -> DynamicConvForConditionalGeneration:
    torch.manual_seed(0)
    config = DynamicConvConfig(**{**SIZES, "decoder_layers": 2, "kernel_dropout": 0.0, **changes})
    return DynamicConvForConditionalGeneration(config)


def classifier(**changes: object) -> DynamicConvForSequenceClassification:
    torch.manual_seed(0)
    return DynamicConvForSequenceClassification(DynamicConvConfig(**SIZES, num_labels=5, **changes)).eval()


def parallel() -> dict[str, Tensor]:
    """Sentences, and targets of several lengths."""
    labels = torch.randint(4, 40, (4, 5), generator=torch.Generator().manual_seed(1))
    labels[1, 3:] = -100
    return {**plain(inputs_of(examples())), "labels": labels}


@pytest.mark.parametrize("convolution", ["dynamic", "lightweight"])
def test_an_examples_logits_do_not_depend_on_its_batch(convolution: str) -> None:
    inputs = inputs_of(examples())
    model = classifier(convolution=convolution)
    together = model(**plain(inputs)).logits
    padding = inputs["attention_mask"] == 0
    other = {**inputs, "input_ids": inputs["input_ids"].masked_fill(padding, 7)}
    assert difference(model(**plain(other)).logits, together) < 1e-6
    for index in range(4):
        assert difference(together[[index]], model(**plain(one(inputs, index))).logits) < 1e-6


@pytest.mark.parametrize(("kernels", "reach"), [([3, 3], 2), ([3, 7], 4), ([1, 5], 2)])
def test_a_source_state_depends_on_exactly_what_its_kernels_reach(kernels: list[int], reach: int) -> None:
    model = translator(encoder_kernels=kernels).double().eval()
    ids = torch.randint(4, 40, (1, 15))
    changed = ids.clone()
    changed[0, 7] = (ids[0, 7] + 1) % 36 + 4
    before, after = (model.encoder(each).last_hidden_state[0] for each in (ids, changed))
    differ = (before != after).any(-1).nonzero().flatten().tolist()
    assert differ == list(range(7 - reach, 7 + reach + 1))


def test_the_last_width_serves_all_further_layers() -> None:
    config = DynamicConvConfig(encoder_layers=6, decoder_layers=3, decoder_kernels=[4])
    assert config.encoder_kernels == [3, 7, 15, 31, 31, 31]
    assert config.decoder_kernels == [4, 4, 4]
    model = translator(encoder_kernels=[3, 9], decoder_kernels=[2])
    assert [layer.attention.width for layer in model.encoder.stack.layers] == [3, 9]
    assert [layer.self_attention.width for layer in model.decoder.layers] == [2, 2]


@pytest.mark.parametrize(
    ("convolution", "kind"), [("dynamic", DynamicConvolution), ("lightweight", LightweightConvolution)]
)
def test_convolutions_stand_where_self_attention_stood(convolution: str, kind: type) -> None:
    model = translator(convolution=convolution, encoder_kernels=[3], kernel_dropout=0.3)
    mixers = [layer.attention for layer in model.encoder.stack.layers]
    mixers += [layer.self_attention for layer in model.decoder.layers]
    assert all(type(mixer) is kind and mixer.dropout == 0.3 for mixer in mixers)


def test_only_attention_to_the_source_can_be_looked_at() -> None:
    model = translator().eval()
    output = model(**parallel(), output_attentions=True, output_hidden_states=True)
    assert output.encoder_attentions is None
    assert output.decoder_attentions is None
    assert [weights.shape for weights in output.cross_attentions] == [(4, 2, 5, 9)] * 2
    assert len(output.encoder_hidden_states) == len(output.decoder_hidden_states) == 3


def test_a_saved_model_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = translator(encoder_kernels=[3, 5], convolution="lightweight").eval()
    model.save_pretrained(tmp_path)
    system, loaded = load(tmp_path)
    assert system.name == "dynamic-conv"
    assert loaded.config.encoder_kernels == [3, 5]
    assert torch.equal(loaded(**parallel()).logits, model(**parallel()).logits)


@pytest.mark.parametrize("convolution", ["dynamic", "lightweight"])
def test_bf16_computes_coarsely(convolution: str) -> None:
    gradients = []
    for bf16 in (True, False):
        training = TrainingRecipe.model_validate({**TRAINING, "bf16": bf16})
        updater = Updater(translator(convolution=convolution), training)
        updater.add(parallel())
        gradients.append(updater.gradients)
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99
    assert not torch.equal(*gradients)


def test_it_learns_to_copy() -> None:
    learns_to_copy(translator())


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    corpus = translation(tmp_path / "files")
    sizes = {
        **SIZES,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_kernels": [3],
        "decoder_kernels": "[2]",
    }
    del sizes["vocab_size"]
    changes = [f"systems.dynamic-conv.sizes.{name}={value}" for name, value in sizes.items()]
    changes += ["systems.dynamic-conv.sizes.convolution=lightweight", "training.updates=40"]
    recipe = experiment(corpus, "model=dynamic-conv", *changes)
    train(recipe, corpus, tmp_path / "run", device="cpu", progress=Progress())
    losses = [line["loss"] for line in metrics(tmp_path / "run") if "loss" in line]
    assert losses[-1] < 0.8 * losses[0]
    _, model = load(tmp_path / "run")
    assert model.config.decoder_kernels == [2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder_kernels": [3, 4]}, r"encoder_kernels: expected odd numbers, got \[3, 4\]"),
        ({"encoder_kernels": [3, 3, 3]}, "encoder_kernels: expected a list of 1 to 2 widths, one per layer"),
        (
            {"decoder_kernels": []},
            r"decoder_kernels: expected a list of 1 to 2 widths, one per layer, got \[\]",
        ),
        ({"decoder_kernels": [0]}, r"decoder_kernels: expected whole numbers, at least 1, got \[0\]"),
        ({"convolution": "deep"}, "convolution: expected one of dynamic, lightweight, got 'deep'"),
        ({"kernel_dropout": 1.0}, "kernel_dropout: expected a rate from 0 to less than 1, got 1.0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translator(**change)
