"""Conv-Seq2Seq: what its states depend on, scales, batches, saving, learning, and sizes that it refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.models.inputs import examples, inputs_of, learns_to_copy, one, plain
from tests.training.corpora import TRAINING, experiment, metrics, translation
from treeformer import ConvSeq2SeqConfig, ConvSeq2SeqForConditionalGeneration
from treeformer.models.conv_seq2seq import keys_values
from treeformer.models.systems import load
from treeformer.progress import Progress
from treeformer.training.loop import train
from treeformer.training.recipe import TrainingRecipe
from treeformer.training.updates import Updater

SIZES = {
    "vocab_size": 40,
    "d_model": 16,
    "channels": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "dropout": 0.0,
}


def translator(**changes: object) -> ConvSeq2SeqForConditionalGeneration:
    torch.manual_seed(0)
    return ConvSeq2SeqForConditionalGeneration(ConvSeq2SeqConfig(**{**SIZES, **changes}))


def parallel() -> dict[str, Tensor]:
    """Sentences, and targets of several lengths."""
    labels = torch.randint(4, 40, (4, 5), generator=torch.Generator().manual_seed(1))
    labels[1, 3:] = -100
    return {**plain(inputs_of(examples())), "labels": labels}


def test_an_examples_logits_do_not_depend_on_its_batch() -> None:
    model = translator().double().eval()
    target = torch.randint(4, 40, (4, 5))
    inputs = inputs_of(examples())
    together = model(**plain(inputs), decoder_input_ids=target).logits
    for index in range(4):
        alone = model(**plain(one(inputs, index)), decoder_input_ids=target[[index]]).logits
        torch.testing.assert_close(together[[index]], alone, rtol=0, atol=1e-12)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    model = translator().eval()
    inputs = plain(inputs_of(examples()))
    target = torch.randint(4, 40, (4, 5))
    expected = model(**inputs, decoder_input_ids=target).logits
    with torch.no_grad():
        model.get_input_embeddings().weight[1] = torch.nan
    inputs["input_ids"] = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 1)
    actual = model(**inputs, decoder_input_ids=target).logits
    others = torch.arange(40) != 1
    assert torch.equal(actual[..., others], expected[..., others])


@pytest.mark.parametrize(("layers", "kernel"), [(1, 3), (2, 3), (2, 5)])
def test_a_source_state_depends_on_exactly_what_its_kernels_reach(layers: int, kernel: int) -> None:
    model = translator(encoder_layers=layers, kernel=kernel).double().eval()
    ids = torch.randint(4, 40, (1, 15))
    changed = ids.clone()
    changed[0, 7] = (ids[0, 7] + 1) % 36 + 4
    before, after = (model.encoder(each).last_hidden_state[0] for each in (ids, changed))
    differ = (before != after).any(-1).nonzero().flatten().tolist()
    reach = layers * (kernel - 1) // 2
    assert differ == list(range(7 - reach, 7 + reach + 1))


def test_positions_beyond_the_table_share_its_last_row() -> None:
    model = translator(positions=4, encoder_layers=1).eval()
    states = model.encoder(torch.full((1, 9), 5)).last_hidden_state[0]
    assert not torch.allclose(states[3], states[4])
    torch.testing.assert_close(states[4], states[7])  # neighbours on either side, all beyond the table
    assert model(torch.full((1, 9), 5), labels=torch.full((1, 12), 6)).logits.isfinite().all()


def test_values_are_scaled_by_the_number_of_tokens_that_are_there() -> None:
    states, vectors = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    mask = torch.arange(5) < torch.tensor([[5], [2]])
    keys, values = keys_values(states, vectors, mask)
    for b, m in enumerate((5, 2)):
        torch.testing.assert_close(keys[b, 0, :m], states[b, :m])
        expected = (states + vectors)[b, :m] * math.sqrt(0.5) * m * math.sqrt(1 / m)
        torch.testing.assert_close(values[b, 0, :m], expected)
        assert not keys[b, 0, m:].any()
        assert not values[b, 0, m:].any()
    for unmasked, masked in zip(keys_values(states[:1], vectors[:1], None), (keys, values), strict=True):
        torch.testing.assert_close(unmasked, masked[:1])


def test_gradients_reach_the_encoder_scaled_by_the_number_of_attentions() -> None:
    model = translator().double()
    weight = model.encoder.convolutions[0].linear.direction
    gradients = []
    for readers in (3, 6):
        model.encoder.readers = readers
        model(**parallel()).loss.backward()
        gradients.append(weight.grad.clone())
        weight.grad = None
    torch.testing.assert_close(gradients[0], 2 * gradients[1])


def test_states_and_logits_start_and_stay_at_one_scale() -> None:
    model = translator(d_model=128, channels=256, encoder_layers=8, decoder_layers=8, vocab_size=2000).eval()
    ids = torch.randint(4, 2000, (8, 20))
    output = model(ids, labels=ids, output_hidden_states=True)
    scales = [states.std().item() for states in output.encoder_hidden_states + output.decoder_hidden_states]
    assert 0.05 < min(scales) < max(scales) < 0.2
    assert output.logits.std() < 1
    assert output.loss.item() == pytest.approx(math.log(2000), rel=0.02)
    table = model.get_input_embeddings().weight
    assert table.std().item() == pytest.approx(0.1, rel=0.02)
    assert not table[1].any()


def test_every_layer_looks_at_the_source_and_shows_it() -> None:
    output = translator().eval()(**parallel(), output_attentions=True, output_hidden_states=True)
    assert output.encoder_attentions is None
    assert output.decoder_attentions is None
    assert [weights.shape for weights in output.cross_attentions] == [(4, 1, 5, 9)] * 3
    for weights in output.cross_attentions:
        torch.testing.assert_close(weights.sum(-1), torch.ones(4, 1, 5))
    assert len(output.encoder_hidden_states) == 3
    assert len(output.decoder_hidden_states) == 4


def test_a_saved_model_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = translator().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)  # lengths and directions of rows are kept apart
    model.save_pretrained(tmp_path)
    system, loaded = load(tmp_path)
    assert system.name == "conv-seq2seq"
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name])
    assert torch.equal(loaded(**parallel()).logits, model(**parallel()).logits)


def test_bf16_computes_coarsely_and_keeps_weights_exact() -> None:
    gradients = []
    for bf16 in (True, False):
        model = translator()
        updater = Updater(model, TrainingRecipe.model_validate({**TRAINING, "bf16": bf16}))
        updater.add(parallel())
        gradients.append(updater.gradients.clone())
        updater.step(0.01)
        assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99
    assert not torch.equal(*gradients)


def test_normalised_maps_do_not_decay() -> None:
    updater = Updater(translator(), TrainingRecipe.model_validate({**TRAINING, "weight_decay": 0.5}))
    assert [group["weight_decay"] for group in updater.optimizer.param_groups] == [0.0]


def test_it_learns_to_copy() -> None:
    learns_to_copy(translator())


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    corpus = translation(tmp_path / "files")
    sizes = {name: value for name, value in SIZES.items() if name != "vocab_size"}
    changes = [f"systems.conv-seq2seq.sizes.{name}={value}" for name, value in sizes.items()]
    recipe = experiment(corpus, "model=conv-seq2seq", *changes, "training.updates=40")
    train(recipe, corpus, tmp_path / "run", device="cpu", progress=Progress())
    losses = [line["loss"] for line in metrics(tmp_path / "run") if "loss" in line]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": 4}, "kernel: expected an odd number, got 4"),
        ({"channels": 0}, "channels: expected a whole number, at least 1, got 0"),
        ({"positions": 0}, "positions: expected a whole number, at least 1, got 0"),
        ({"dropout": 1.0}, "dropout: expected a rate from 0 to less than 1, got 1.0"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translator(**change)
