"""The Tree2Seq translator: its equations, its attention, and that it learns, saves and loads.

test_generation covers its cache and its beams.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.closeness import difference
from tests.models.inputs import examples, inputs_of, one
from tests.nn.recursion import binary, nodes_of
from treeformer import Tree2SeqConfig, Tree2SeqForConditionalGeneration
from treeformer.models.systems import SYSTEMS, build, size_names

SIZES = {"vocab_size": 40, "d_model": 16, "decoder_layers": 2, "dropout": 0.0}


def translator(**changes: object) -> Tree2SeqForConditionalGeneration:
    """A small model with random weights."""
    torch.manual_seed(0)
    model = Tree2SeqForConditionalGeneration(Tree2SeqConfig(**{**SIZES, **changes}))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model.eval().double()


def step_by_step(
    model: Tree2SeqForConditionalGeneration, inputs: dict[str, Tensor], index: int, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits ``[q, vocabulary]`` and attention weights ``[q, n + m]`` of one example, word by word."""
    tree, encoder, decoder = examples()[index], model.encoder, model.decoder
    table = model.get_input_embeddings()
    n = len(tree.words)
    words = encoder.words(table(inputs["input_ids"][[index], :n]))
    hidden, cell = words.hidden[0], words.cell[0]
    phrases, phrase_cells = nodes_of(tree, hidden, cell, encoder.phrases.composition)
    begin = binary(encoder.start, [(phrases[-1], phrase_cells[-1]), (hidden[-1], cell[-1])])
    states, fed = [begin] * len(decoder.cells), torch.zeros_like(begin[0])
    memory = torch.cat([hidden, phrases])
    logits, attention = [], []
    for token in target.tolist():
        below = torch.cat([table.weight[token] * 4, fed])  # √16
        for layer, lstm in enumerate(decoder.cells):
            h, c = states[layer]
            gates = lstm.input.weight @ below + lstm.recurrent.weight @ h
            i, o, u, f = (gates + torch.cat([lstm.bias, lstm.forget_bias])).chunk(4)
            c = i.sigmoid() * u.tanh() + f.sigmoid() * c
            states = [*states[:layer], (o.sigmoid() * c.tanh(), c), *states[layer + 1 :]]
            below = states[layer][0]
        weights = (memory @ below).softmax(0)
        fed = torch.tanh(decoder.combine(torch.cat([below, weights @ memory])))
        logits.append(table.weight @ fed)
        attention.append(weights)
    return torch.stack(logits), torch.stack(attention)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_equals_the_equations_word_by_word(layers: int) -> None:
    model, inputs = translator(decoder_layers=layers), inputs_of(examples())
    target = torch.randint(4, 40, (4, 6))
    output = model(**inputs, decoder_input_ids=target, output_attentions=True)
    (weights,) = output.cross_attentions
    padded = inputs["input_ids"].shape[1]
    for index, tree in enumerate(examples()):
        n = len(tree.words)
        logits, attention = step_by_step(model, inputs, index, target[index])
        torch.testing.assert_close(output.logits[index], logits, rtol=0, atol=1e-9)
        example = weights[index, 0]
        example = torch.cat([example[:, :n], example[:, padded : padded + len(tree)]], dim=1)
        torch.testing.assert_close(example, attention, rtol=0, atol=1e-9)


def test_attention_over_words_and_phrases_sums_to_one_and_leaves_padding_alone() -> None:
    model, inputs = translator(), inputs_of(examples())
    n, m = inputs["input_ids"].shape[1], inputs["node_ids"].shape[1]
    output = model(**inputs, labels=torch.ones(4, 3).long(), output_attentions=True)
    (weights,) = output.cross_attentions
    assert weights.shape == (4, 1, 3, n + m)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 1, 3).double())
    there = torch.cat([inputs["attention_mask"], inputs["node_mask"]], dim=1).bool()
    assert not weights.masked_select(~there[:, None, None]).any()
    assert weights[..., :n].any()
    assert weights[..., n:].any()
    assert model(**inputs, labels=torch.ones(4, 3).long()).cross_attentions is None


def test_attentions_of_all_beams_are_returned_by_generate() -> None:
    model, inputs = translator(), inputs_of(examples())
    output = model.generate(
        **inputs, num_beams=3, max_new_tokens=4, output_attentions=True, return_dict_in_generate=True
    )
    assert all(step[0].shape == (12, 1, 1, 17) for step in output.cross_attentions)


def test_an_examples_logits_do_not_depend_on_its_batch() -> None:
    model, inputs = translator(), inputs_of(examples())
    target = torch.randint(4, 40, (4, 5))
    together = model(**inputs, decoder_input_ids=target).logits
    for index in range(4):
        alone = model(**one(inputs, index), decoder_input_ids=target[[index]]).logits
        assert difference(together[[index]], alone) < 1e-12
    spoilt = {**inputs, "input_ids": inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, 7)}
    assert torch.equal(model(**spoilt, decoder_input_ids=target).logits, together)


def test_logits_word_by_word_with_the_cache_equal_one_pass() -> None:
    model, inputs = translator(decoder_layers=3), inputs_of(examples())
    target = torch.randint(4, 40, (4 * 2, 6))  # two targets of each source
    whole = model(**inputs, decoder_input_ids=target, use_cache=False).logits
    past, logits = None, []
    for place in range(6):
        output = model(**inputs, decoder_input_ids=target[:, [place]], past_key_values=past, use_cache=True)
        past = output.past_key_values
        logits.append(output.logits)
    torch.testing.assert_close(torch.cat(logits, dim=1), whole, rtol=0, atol=1e-9)


def test_the_source_is_read_at_the_first_step_alone() -> None:
    model, inputs = translator(), inputs_of(examples())
    calls = []
    model.encoder.phrases.register_forward_hook(lambda *_: calls.append(1))
    model.generate(**inputs, num_beams=2, min_new_tokens=5, max_new_tokens=5)
    assert calls == [1]


def test_a_target_mask_may_hide_padding_on_the_right_alone() -> None:
    model, inputs = translator(), inputs_of(examples())
    target = torch.randint(4, 40, (4, 5))
    right = (torch.arange(5) < torch.tensor([[5], [3], [1], [4]])).long()
    masked = model(**inputs, decoder_input_ids=target, decoder_attention_mask=right).logits
    assert torch.equal(masked, model(**inputs, decoder_input_ids=target).logits)
    with pytest.raises(ValueError, match="decoder_attention_mask: expected tokens first, then padding"):
        model(**inputs, decoder_input_ids=target, decoder_attention_mask=right.flip(1))


@pytest.mark.parametrize("composition", ["child-sum", "binary"])
def test_a_saved_model_is_the_same_when_loaded(composition: str, tmp_path: Path) -> None:
    model = translator(composition=composition).float()
    inputs = inputs_of(examples()[:2])
    generated = model.generate(**inputs, num_beams=2, max_new_tokens=4)
    model.save_pretrained(tmp_path)
    loaded = Tree2SeqForConditionalGeneration.from_pretrained(tmp_path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert torch.equal(loaded.generate(**inputs, num_beams=2, max_new_tokens=4), generated)


def test_weights_start_as_specified() -> None:
    torch.manual_seed(0)
    model = Tree2SeqForConditionalGeneration(Tree2SeqConfig(vocab_size=40, d_model=200))
    for cell in (model.encoder.words, *model.decoder.cells):
        assert cell.recurrent.weight.var().item() == pytest.approx(1 / 200, rel=0.02)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == ("forget" in name)).all(), name


def test_all_weights_learn_and_the_loss_falls() -> None:
    torch.manual_seed(0)
    model = Tree2SeqForConditionalGeneration(Tree2SeqConfig(**SIZES)).train()
    inputs, labels = inputs_of(examples()), torch.randint(4, 40, (4, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    first = model(**inputs, labels=labels).loss
    first.backward()
    assert all(p.grad is not None and p.grad.abs().any() for p in model.parameters())
    for _ in range(60):
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
    assert model(**inputs, labels=labels).loss.item() < first.item() / 4


def test_it_works_under_autocast_and_generates_there() -> None:
    model, inputs = translator().float(), inputs_of(examples())
    labels = torch.randint(4, 40, (4, 5))
    exact = model(**inputs, labels=labels)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = model(**inputs, labels=labels)
        model.generate(**inputs, num_beams=2, max_new_tokens=3)
    assert difference(coarse.logits.float(), exact.logits) < 0.1
    coarse.loss.backward()
    narrow = model.bfloat16()
    assert difference(narrow(**inputs, labels=labels).logits.float(), exact.logits) < 0.1
    narrow.generate(**inputs, num_beams=2, max_new_tokens=3)


def test_hidden_states_are_returned_when_asked_for() -> None:
    model, inputs = translator(), inputs_of(examples())
    output = model(**inputs, labels=torch.ones(4, 3).long(), output_hidden_states=True)
    assert [tuple(states.shape) for states in output.decoder_hidden_states] == [(4, 3, 16)] * 4
    assert len(output.encoder_hidden_states) == 1


def test_the_system_is_known_by_its_name_and_sizes() -> None:
    system = SYSTEMS["tree2seq"]
    assert size_names(system) == ["composition", "d_model", "decoder_layers", "dropout"]
    model = build(system, "translation", {"d_model": 8}, vocab_size=40, node_vocab_size=6)
    assert isinstance(model, Tree2SeqForConditionalGeneration)
    with pytest.raises(ValueError, match="decoder_layers: expected a whole number, at least 1, got 0"):
        translator(decoder_layers=0)
