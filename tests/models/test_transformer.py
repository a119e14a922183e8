"""The plain Transformer: padding, company, saving, learning."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.closeness import difference
from tests.models.inputs import SIZES, examples, inputs_of, one, plain
from treeformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
)


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
    model = TransformerForConditionalGeneration(TransformerConfig(**SIZES, decoder_layers=2, norm=norm))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    source = torch.randint(4, 40, (8, 3))
    labels = torch.cat([source, torch.full((8, 1), 2)], dim=1)
    for _ in range(150):
        optimizer.zero_grad()
        model(input_ids=source, labels=labels).loss.backward()
        optimizer.step()
    copied = model.eval().generate(source, num_beams=3, max_new_tokens=6)
    assert torch.equal(copied[:, 1:5], labels)


def test_a_saved_model_is_the_same_when_loaded(tmp_path: Path) -> None:
    model = classifier()
    model.save_pretrained(tmp_path)
    loaded = TransformerForSequenceClassification.from_pretrained(tmp_path)
    inputs = plain(inputs_of(examples()))
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)
