"""How many parameters there are, and where they are."""

from __future__ import annotations

import torch
from torch import nn

from tests.models.inputs import examples, inputs_of, tree_config
from treeformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TreeTransformerConfig,
    TreeTransformerForConditionalGeneration,
)


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_base_models_have_the_papers_number_of_parameters() -> None:
    with torch.device("meta"):
        plain = TransformerForConditionalGeneration(TransformerConfig(vocab_size=34392))
        tree = TreeTransformerForConditionalGeneration(
            TreeTransformerConfig(vocab_size=34300, node_vocab_size=92)
        )
    assert count(plain) == 61_747_200
    assert count(tree) == 61_810_944
    assert count(tree) - count(plain) == 12 * (150 * 32 + 512)


def test_ablations_lack_the_parameters_that_they_leave_out() -> None:
    def extra(**changes: object) -> int:
        with torch.device("meta"):
            model = TreeTransformerForConditionalGeneration(
                TreeTransformerConfig(vocab_size=34300, node_vocab_size=92, **changes)
            )
        return count(model) - 61_747_200

    assert extra(hierarchical_embeddings=False) == 12 * 512
    assert extra(accumulate=False) == 0
    assert extra(subtree_mask=False) == 63_744
    assert extra(convention="released") == 12 * (150 * 32 + 8 * 513)


def test_one_table_holds_tokens_and_labels_and_labels_are_never_predicted() -> None:
    model = TreeTransformerForConditionalGeneration(tree_config()).eval()
    table = model.get_input_embeddings().weight
    assert table.shape == (40 + 6, 16)
    assert [name for name, p in model.named_parameters() if p.shape[0] == 46] == ["encoder.embedding.weight"]
    inputs, labels = inputs_of(examples()), torch.randint(4, 40, (4, 5))
    encoded = model.encoder(**inputs)
    before = model(**inputs, labels=labels, encoder_outputs=encoded).logits
    assert before.shape == (4, 5, 40)
    with torch.no_grad():
        table[40:] += torch.randn(6, 16)
    assert torch.equal(model(**inputs, labels=labels, encoder_outputs=encoded).logits, before)
    assert not torch.allclose(model(**inputs, labels=labels).logits, before)  # never predicted, but read


def test_the_output_product_gives_label_rows_no_gradient() -> None:
    model = TreeTransformerForConditionalGeneration(tree_config())
    inputs = inputs_of(examples())
    with torch.no_grad():
        encoded = model.encoder(**inputs)
    model(**inputs, encoder_outputs=encoded, labels=torch.randint(4, 40, (4, 5))).loss.backward()
    gradient = model.get_input_embeddings().weight.grad
    assert gradient is not None
    assert not gradient[40:].any()
    assert gradient[:40].abs().sum(1).all()
