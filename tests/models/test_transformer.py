"""The plain Transformer: padding, batches, saving, learning."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.closeness import difference
from tests.models.inputs import SIZES, examples, inputs_of, learns_to_copy, one, plain
from tests.nn.twins import copy_encoder
from treeformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
)
from treeformer.nn import sinusoids


def classifier(**changes: object) -> TransformerForSequenceClassification:
    torch.manual_seed(0)
    return TransformerForSequenceClassification(TransformerConfig(**SIZES, num_labels=5, **changes)).eval()


def test_an_examples_logits_do_not_depend_on_its_batch() -> None:
    inputs = inputs_of(examples())
    together = classifier()(**plain(inputs)).logits
    for index in range(4):
        alone = classifier()(**plain(one(inputs, index))).logits
        assert difference(together[[index]], alone) < 1e-6


def test_without_a_mask_every_token_counts() -> None:
    ids = torch.randint(4, 40, (2, 5))
    masked = classifier()(ids, torch.ones(2, 5)).logits
    torch.testing.assert_close(classifier()(ids).logits, masked, rtol=0, atol=1e-6)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_learns_to_copy(norm: str) -> None:
    torch.manual_seed(0)
    learns_to_copy(
        TransformerForConditionalGeneration(TransformerConfig(**SIZES, decoder_layers=2, norm=norm))
    )


def test_a_saved_model_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = classifier()
    model.save_pretrained(tmp_path)
    loaded = TransformerForSequenceClassification.from_pretrained(tmp_path)
    inputs = plain(inputs_of(examples()))
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_model_made_from_a_config_equals_torchs(norm: str) -> None:
    model = classifier(norm=norm)
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=True, norm_first=norm == "pre"),
        num_layers=2,
        norm=torch.nn.LayerNorm(16) if norm == "pre" else None,
        enable_nested_tensor=False,
    )
    copy_encoder(model.encoder.stack, theirs)
    inputs = plain(inputs_of(examples()))
    encoded = model.encoder(**inputs, output_hidden_states=True)
    mask = inputs["attention_mask"].bool()
    expected = theirs.eval()(encoded.hidden_states[0], src_key_padding_mask=~mask)
    torch.testing.assert_close(encoded.last_hidden_state[mask], expected[mask], rtol=0, atol=1e-5)
    table = model.get_input_embeddings().weight
    vectors = table[inputs["input_ids"]] * 4 + sinusoids(torch.arange(mask.shape[1]), 16)
    torch.testing.assert_close(encoded.hidden_states[0], vectors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention_mask": torch.ones(4, 1)}, r"attention_mask: expected the shape \[4, 9\] of input_ids"),
        (
            {"attention_mask": torch.zeros(4, 9)},
            "attention_mask: expected at least one token in every example",
        ),
        ({"input_ids": torch.full((4, 9), 40)}, "input_ids: expected 0 to 39, got 40 to 40"),
        ({"input_ids": None}, "input_ids, inputs_embeds: expected one of the two, got neither"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier()(**{**plain(inputs_of(examples())), **change})


def test_a_tuple_is_returned_when_asked_for() -> None:
    inputs = plain(inputs_of(examples()))
    assert torch.equal(classifier()(**inputs, return_dict=False)[0], classifier()(**inputs).logits)
