"""States of whole words from a pretrained encoder: the mean over the pieces of each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


def default_layers(count: int) -> tuple[int, ...]:
    """The upper half of the layers of an encoder, numbered from 1; every second one if there are many.

    >>> default_layers(6), default_layers(12), default_layers(2)
    ((3, 4, 5, 6), (6, 8, 10, 12), (1, 2))
    """
    step = 2 if count >= 8 else 1
    return tuple(range(count, (count - 1) // 2, -step))[::-1]


def check_layers(model: PreTrainedModel, layers: Sequence[int]) -> None:
    """Raise ``ValueError`` unless an encoder has all these layers; 0 stands for the embeddings."""
    count = model.config.num_hidden_layers
    for layer in layers:
        if not 0 <= layer <= count:
            raise ValueError(f"layers: the encoder has the layers 0 to {count}, got {layer}")


def remove_upper_layers(model: PreTrainedModel, highest: int) -> None:
    """Remove the layers above ``highest`` from an encoder, so that they are not computed.

    ValueError if it does not have as many. An encoder whose layers share their weights is left as it is.
    """
    from torch import nn

    check_layers(model, [highest])
    count = model.config.num_hidden_layers
    for parent in [*model.modules()]:
        for name, layers in [*parent.named_children()]:
            if isinstance(layers, nn.ModuleList) and len(layers) == count > highest:
                setattr(parent, name, layers[:highest])
                model.config.num_hidden_layers = highest
                return


def word_states(
    model: PreTrainedModel,
    piece_ids: Tensor,
    piece_mask: Tensor,
    piece_words: Tensor,
    words: int,
    layers: Sequence[int],
) -> Tensor:
    """``[B, words, L, W]``: the mean of the states of the pieces of each word, in these layers.

    Words without pieces, which are padding, get zeros.

    Args:
        model: an encoder of width W.
        piece_ids, piece_mask: ``[B, v, p]`` pieces of the windows of each text, and 1 for pieces, 0 for
            padding. Windows without pieces are not computed.
        piece_words: ``[B, v, p]`` the word that each piece belongs to, −1 for none.
        words: the number of words of the longest text.
        layers: their numbers; 0 stands for the embeddings.
    """
    import torch

    B, v, p = piece_ids.shape
    ids, mask, word = (tensor.reshape(B * v, p) for tensor in (piece_ids, piece_mask, piece_words))
    text = torch.arange(B, device=ids.device).repeat_interleave(v)
    if v > 1:
        used = mask.any(1)
        ids, mask, word, text = ids[used], mask[used], word[used], text[used]
    output: Any = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    states = torch.stack([output.hidden_states[layer] for layer in layers], dim=2)  # [rows, p, L, W]
    nothing = B * words  # where pieces of no word are added up
    places = torch.where(word >= 0, word + words * text[:, None], nothing).reshape(-1)
    sums = states.new_zeros(nothing + 1, *states.shape[2:]).index_add(0, places, states.flatten(0, 1))
    counts = states.new_zeros(nothing + 1).index_add(0, places, torch.ones_like(places, dtype=states.dtype))
    means = sums[:nothing] / counts[:nothing, None, None].clamp(min=1)
    return means.reshape(B, words, *states.shape[2:])
