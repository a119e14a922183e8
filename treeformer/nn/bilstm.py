"""Two LSTMs over the words of a sentence, one from each end."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.nn.recurrence import one_by_one


class BiLstmLayer(nn.Module):
    """Two LSTMs over the same states, one from each end of every sentence.

    The forward LSTM reads the words before the padding; the backward one reads each sentence reversed within
    its length. Packed sequences would do the same, but need the lengths on the CPU: a GPU would have to wait
    for them, and a CUDA graph cannot hold them.

    Args:
        width: width of the vectors that it reads.
        d_model: width of the states that it returns, half of it from each direction.
    """

    def __init__(self, width: int, d_model: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(width, d_model // 2, batch_first=True)
        self.backwards = nn.LSTM(width, d_model // 2, batch_first=True)

    def forward(self, states: Tensor, mirror: Tensor) -> Tensor:
        """``[B, n, d]`` of ``states [B, n, width]``; `mirrored_places` gives ``mirror [B, n]``."""
        read = _in_order if torch.compiler.is_compiling() else _read
        ahead = read(self.forwards, states)
        back = read(self.backwards, at_positions(states, mirror))
        return torch.cat([ahead, at_positions(back, mirror)], dim=-1)


class WordContext(nn.Module):
    """Words that know their neighbours: each vector, plus what two LSTMs read from both ends.

    Args:
        d_model: width of the vectors, an even number.
        dropout: on the vectors that the LSTMs read.
    """

    def __init__(self, d_model: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model: expected an even number, half for each direction, got {d_model}")
        self.dropout = nn.Dropout(dropout)
        self.lstms = BiLstmLayer(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """``[B, n, d]`` of ``words [B, n, d]`` with ``mask [B, n]``; undefined in the padding."""
        context = self.lstms(self.dropout(words).masked_fill(~mask[..., None], 0), mirrored_places(mask))
        return self.norm(words + context.to(words.dtype))


def _read(lstm: nn.LSTM, states: Tensor) -> Tensor:
    """``[B, n, h]``: outputs of an LSTM."""
    outputs, _ = lstm(states)
    return outputs


def _in_order(lstm: nn.LSTM, states: Tensor) -> Tensor:
    """What `_read` returns, in a graph for any number of words: torch would unroll the LSTM."""
    weights = dict(lstm.named_parameters())
    recurrent = weights["weight_hh_l0"]
    bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    gates = F.linear(states, weights["weight_ih_l0"], bias).transpose(0, 1)
    zeros = gates.new_zeros(*gates.shape[1:2], lstm.hidden_size)

    def step(carry: Sequence[Tensor], word: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        hidden, cell = carry
        let_in, keep, new, let_out = (word + F.linear(hidden, recurrent)).chunk(4, dim=-1)
        cell = keep.sigmoid() * cell + let_in.sigmoid() * new.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
        return (hidden, cell), hidden.clone()

    _, outputs = one_by_one(step, (zeros, zeros.clone()), gates)
    return outputs.transpose(0, 1)


def mirrored_places(mask: Tensor) -> Tensor:
    """``[B, n]``: places of the words read backwards; padding keeps its place.

    >>> mirrored_places(torch.tensor([[True, True, True, False]]))
    tensor([[2, 1, 0, 3]])
    """
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)


def at_positions(states: Tensor, places: Tensor) -> Tensor:
    """``[B, p, d]``: the states ``[B, n, d]`` at ``places [B, p]``."""
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))
