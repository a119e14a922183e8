"""The BiLSTM equals torch's; padding, batches, saving, learning."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.closeness import difference
from tests.models.inputs import examples, inputs_of, one, plain
from treeformer import BiLstmConfig, BiLstmForSequenceClassification

SIZES = {"vocab_size": 40, "d_model": 16, "dropout": 0.0, "num_labels": 5}
POOLINGS = ("last", "attention")


def classifier(**changes: object) -> BiLstmForSequenceClassification:
    torch.manual_seed(0)
    return BiLstmForSequenceClassification(BiLstmConfig(**{**SIZES, **changes})).eval()


def twin(model: BiLstmForSequenceClassification) -> nn.LSTM:
    """Torch's bidirectional LSTM with the same weights, which share their gradients' names."""
    layers = model.encoder.layers
    width = model.get_input_embeddings().embedding_dim
    theirs = nn.LSTM(width, 8, len(layers), batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(ours(model, name))
    return theirs


def ours(model: BiLstmForSequenceClassification, name: str) -> nn.Parameter:
    """Our parameter of torch's name, as ``weight_ih_l1_reverse``."""
    kind, number = name.removesuffix("_reverse").rsplit("_l", 1)
    layer = model.encoder.layers[int(number)]
    direction = layer.backwards if name.endswith("_reverse") else layer.forwards
    return getattr(direction, f"{kind}_l0")


def expected_logits(
    model: BiLstmForSequenceClassification, theirs: nn.LSTM, table: Tensor, ids: Tensor
) -> Tensor:
    """``[1, labels]``: the logits of one sentence by torch's LSTM and a few literal steps, ``ids [1, n]``."""
    states, (last, _) = theirs(table[ids] * table.shape[1] ** 0.5)
    if model.config.pooling == "last":
        sentence = torch.cat([last[-2], last[-1]], dim=-1)
    else:
        weights = torch.exp(states.tanh() @ model.pooling.score.weight[0])
        sentence = (weights[..., None] * states).sum(1) / weights.sum(1, keepdim=True)
    return model.classifier(sentence)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("width", [None, 10])
def test_a_padded_batch_gives_outputs_and_gradients_of_torchs_lstm_on_single_sentences(
    layers: int, pooling: str, width: int | None
) -> None:
    model = classifier(encoder_layers=layers, pooling=pooling, embedding_dim=width).double()
    theirs = twin(model)
    inputs = inputs_of(examples())
    table = model.get_input_embeddings().weight.detach().clone().requires_grad_()
    expected = torch.cat(
        [expected_logits(model, theirs, table, one(inputs, index)["input_ids"]) for index in range(4)]
    )
    answer = torch.randn(expected.shape, dtype=torch.float64)
    expected.backward(answer)
    head = {name: parameter.grad for name, parameter in model.named_parameters() if "encoder" not in name}
    model.zero_grad()
    logits = model(**plain(inputs)).logits
    assert difference(logits, expected) < 1e-9
    logits.backward(answer)
    for name, parameter in theirs.named_parameters():
        assert difference(ours(model, name).grad, parameter.grad) < 1e-9, name
    assert difference(model.get_input_embeddings().weight.grad, table.grad) < 1e-9
    for name, gradient in head.items():
        assert difference(model.get_parameter(name).grad, gradient) < 1e-9, name


@pytest.mark.parametrize("layers", [1, 2])
def test_states_of_words_are_those_of_torchs_lstm(layers: int) -> None:
    model = classifier(encoder_layers=layers).double()
    theirs = twin(model)
    inputs = inputs_of(examples())
    encoded = model.encoder(**plain(inputs), output_hidden_states=True)
    assert len(encoded.hidden_states) == layers + 1
    for index in range(4):
        n = int(inputs["attention_mask"][index].sum())
        expected, _ = theirs(encoded.hidden_states[0][[index], :n])
        assert difference(encoded.last_hidden_state[[index], :n], expected) < 1e-9


@pytest.mark.parametrize("pooling", POOLINGS)
def test_neither_padding_nor_batch_changes_an_answer(pooling: str) -> None:
    model = classifier(encoder_layers=2, pooling=pooling)
    inputs = inputs_of(examples())
    together = model(**plain(inputs)).logits
    other = torch.where(inputs["attention_mask"].bool(), inputs["input_ids"], torch.randint(40, (4, 9)))
    assert torch.equal(model(other, inputs["attention_mask"]).logits, together)
    for index in range(4):
        assert difference(together[[index]], model(**plain(one(inputs, index))).logits) < 1e-6
    order = torch.tensor([2, 0, 3, 1])
    shuffled = model(inputs["input_ids"][order], inputs["attention_mask"][order]).logits
    assert difference(shuffled, together[order]) < 1e-6


def test_without_a_mask_every_token_counts() -> None:
    ids = torch.randint(4, 40, (2, 5))
    assert torch.equal(classifier()(ids).logits, classifier()(ids, torch.ones(2, 5)).logits)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_attentions_are_the_weights_of_the_mean(pooling: str) -> None:
    inputs = plain(inputs_of(examples()))
    output = classifier(pooling=pooling)(**inputs, output_attentions=True)
    if pooling == "last":
        assert output.attentions is None
        return
    (weights,) = output.attentions
    assert weights.shape == (4, 1, 1, 9)
    assert not weights[:, 0, 0][inputs["attention_mask"] == 0].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 1, 1))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_it_computes_in_bfloat16(pooling: str) -> None:
    model = classifier(encoder_layers=2, pooling=pooling)
    inputs = plain(inputs_of(examples()))
    expected = model(**inputs).logits
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**inputs, labels=torch.tensor([0, 1, 2, 3]))
    assert difference(output.logits.float(), expected) < 0.05
    output.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_dropout_falls_on_words_between_layers_and_before_the_classifier() -> None:
    torch.manual_seed(0)
    model = classifier(encoder_layers=2, dropout=0.5).train()
    seen: list[tuple[int, ...]] = []
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda _, given, out: seen.append(tuple(out.shape)))
    model(torch.randint(4, 40, (2, 3)))
    assert seen == [(2, 3, 16), (2, 3, 16), (2, 16)]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_saved_model_is_the_same_when_loaded(tmp_path: Path, pooling: str) -> None:
    model = classifier(encoder_layers=2, pooling=pooling, embedding_dim=6)
    model.save_pretrained(tmp_path)
    loaded = BiLstmForSequenceClassification.from_pretrained(tmp_path)
    inputs = plain(inputs_of(examples()))
    assert loaded.config.embedding_dim == 6
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_it_learns_which_word_comes_first(pooling: str) -> None:
    model = classifier(pooling=pooling).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.randint(4, 40, (40, 6))
    labels = ids[:, 0] % 5
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(ids, labels=labels).loss
        loss.backward()
        optimizer.step()
    assert loss < 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 15}, "d_model: expected an even number, half for each direction, got 15"),
        ({"embedding_dim": 0}, "embedding_dim: expected a whole number, at least 1, got 0"),
        ({"encoder_layers": 0}, "encoder_layers: expected a whole number, at least 1, got 0"),
        ({"pooling": "mean"}, "pooling: expected one of last, attention, got 'mean'"),
        ({"dropout": 1.0}, "dropout: expected a rate"),
    ],
)
def test_sizes_that_make_no_model_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BiLstmConfig(**{**SIZES, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention_mask": torch.ones(4, 1)}, r"attention_mask: expected the shape \[4, 9\] of input_ids"),
        ({"attention_mask": torch.zeros(4, 9)}, "attention_mask: expected at least one token in every"),
        (
            {"attention_mask": torch.tensor([[0] + [1] * 8] * 4)},
            "attention_mask: expected tokens first, then padding",
        ),
        ({"input_ids": torch.full((4, 9), 40)}, "input_ids: expected 0 to 39, got 40 to 40"),
        ({"input_ids": None}, "input_ids, inputs_embeds: expected one of the two, got neither"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(change: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier()(**{**plain(inputs_of(examples())), **change})
