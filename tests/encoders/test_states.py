"""States of words: means over pieces, of the layers that are asked for and no others."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from tests.encoders.conftest import bert
from treeformer.encoders.states import default_layers, remove_upper_layers, word_states

LAYERS = (0, 1, 2)


def windows(texts: list[list[list[tuple[int, int]]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Padded tensors of texts, which are lists of windows of pieces: id and word."""
    v = max(len(text) for text in texts)
    p = max(len(window) for text in texts for window in text)
    ids, mask = torch.zeros(2, len(texts), v, p, dtype=torch.long)
    words = torch.full_like(ids, -1)
    for row, text in enumerate(texts):
        for number, window in enumerate(text):
            for place, (piece, word) in enumerate(window):
                ids[row, number, place], mask[row, number, place] = piece, 1
                words[row, number, place] = word
    return ids, mask, words


TEXTS = [
    [[(2, -1), (13, 0), (15, 1), (42, 1), (3, -1)], [(2, -1), (42, -1), (17, 2), (3, -1)]],
    [[(2, -1), (1, 1), (20, 0), (44, 0), (45, 0), (21, 2), (22, 3), (3, -1)]],
    [[(2, -1), (30, 0), (3, -1)]],
]


def naive_states(model: PreTrainedModel, text: list[list[tuple[int, int]]], word: int) -> Tensor:
    """The mean of the states of the pieces of one word, each window encoded alone."""
    states = []
    for window in text:
        ids = torch.tensor([[piece for piece, _ in window]])
        hidden = model(input_ids=ids, output_hidden_states=True).hidden_states
        states += [
            torch.stack([hidden[layer][0, place] for layer in LAYERS])
            for place, (_, owner) in enumerate(window)
            if owner == word
        ]
    return torch.stack(states).mean(0)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_word_has_the_mean_of_its_pieces(attention: str) -> None:
    model = bert(attention)
    with torch.no_grad():
        states = word_states(model, *windows(TEXTS), 4, LAYERS)
        assert states.shape == (3, 4, 3, 16)
        for row, text in enumerate(TEXTS):
            words = {word for window in text for _, word in window if word >= 0}
            for word in range(4):
                expected = naive_states(model, text, word) if word in words else torch.zeros(3, 16)
                torch.testing.assert_close(states[row, word], expected)


def test_gradients_reach_the_encoder() -> None:
    model = bert()
    word_states(model, *windows(TEXTS), 4, (1,)).square().sum().backward()
    assert model.encoder.layer[0].attention.self.query.weight.grad.abs().sum() > 0
    assert model.encoder.layer[1].attention.self.query.weight.grad is None


def test_layers_above_the_highest_are_removed() -> None:
    model, whole = bert(), bert()
    remove_upper_layers(model, 1)
    assert len(model.encoder.layer) == model.config.num_hidden_layers == 1
    pieces = windows(TEXTS)
    with torch.no_grad():
        states = word_states(model, *pieces, 4, (0, 1))
        torch.testing.assert_close(states, word_states(whole, *pieces, 4, (0, 1)))


def test_an_encoder_with_too_few_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="layers: the encoder has the layers 0 to 2, got 3"):
        remove_upper_layers(bert(), 3)


@pytest.mark.parametrize("count", range(1, 49))
def test_default_layers_are_in_the_upper_half(count: int) -> None:
    layers = default_layers(count)
    assert layers[-1] == count
    assert layers[0] >= count / 2
    assert list(layers) == sorted(set(layers))
