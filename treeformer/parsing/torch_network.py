"""The parser's network by torch: on a GPU, or in bfloat16."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from treeformer.chunking import split_by_sizes
from treeformer.parsing.analysis import Analysis
from treeformer.parsing.chart import spans_of
from treeformer.parsing.network import ParserNetwork
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.word_batch import WordBatch


class TorchNetwork:
    """`ParserNetwork` as the embedded parser uses it.

    Args:
        sizes: of the network.
        weights: by name, in float32.
        device: where it is computed.
        bf16: compute in bfloat16.
    """

    def __init__(
        self,
        sizes: NetworkSizes,
        weights: Mapping[str, np.ndarray],
        device: torch.device,
        *,
        bf16: bool = False,
    ) -> None:
        with torch.random.fork_rng(devices=[]):  # the weights are replaced
            network = ParserNetwork(sizes)
        network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        self.network = network.to(device).eval().requires_grad_(False)
        self._device = device
        self._bf16 = bf16

    def analyse(self, batch: WordBatch) -> Analysis:
        """Spans, labels and tags of each sentence of a batch, by one pass of the network."""
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            states, gaps = self.network(*self._inputs(batch))
            scores = self.network.brackets(gaps).float()
        splits, positive = best_splits_on_device(scores).tolist(), (scores > 0).tolist()
        spans = list(map(spans_of, splits, positive, batch.lengths.tolist()))
        places = [(index, *span) for index, sentence_spans in enumerate(spans) for span in sentence_spans]
        label_scores = self.network.labels(gaps.float(), torch.tensor(places, device=self._device))
        labels = split_by_sizes(label_scores.argmax(-1).tolist(), map(len, spans))
        tags = self.network.tag(states.float()).argmax(-1).tolist()
        return Analysis(spans, labels, tags)

    def _inputs(self, batch: WordBatch) -> tuple[Tensor, ...]:
        """The arguments of `ParserNetwork.forward`, padded to the longest sentence."""
        lengths = torch.from_numpy(batch.lengths)
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        forms = torch.full(mask.shape, -1)
        forms[mask] = torch.from_numpy(batch.rows)
        pieces, ends = (
            torch.from_numpy(batch.pieces),
            torch.from_numpy(np.append(batch.offsets, len(batch.pieces))),
        )
        sizes = ends.diff()[forms].masked_fill(~mask, 0).flatten()
        offsets = sizes.cumsum(0) - sizes
        places = torch.arange(int(sizes.sum())) - offsets.repeat_interleave(sizes)
        first = ends[:-1][forms].flatten().repeat_interleave(sizes)
        known = torch.from_numpy(batch.known)[forms].masked_fill(~mask, 0)
        shapes = torch.from_numpy(batch.shapes)[forms].masked_fill(~mask, 0)
        tensors = (known, pieces[first + places], offsets, shapes, mask)
        return tuple(tensor.to(self._device) for tensor in tensors)


def best_splits_on_device(scores: Tensor) -> Tensor:
    """What `best_splits` returns, computed where the scores are."""
    B, size, _ = scores.shape
    n = size - 1
    gain = scores.clamp(min=0)
    by_start = torch.zeros(B, size, size, dtype=scores.dtype, device=scores.device)  # [b, i, width]
    by_end = torch.zeros_like(by_start)  # [b, j, width]
    splits = torch.zeros(B, size, size, dtype=torch.long, device=scores.device)
    for width in range(1, n + 1):
        count = n - width + 1
        starts = torch.arange(count, device=scores.device)
        total = gain[:, starts, starts + width]
        if width > 1:
            halves = by_start[:, :count, 1:width] + by_end[:, width:, 1:width].flip(-1)
            best, offset = halves.max(-1)
            total = total + best
            splits[:, starts, starts + width] = starts + offset + 1
        by_start[:, :count, width] = total
        by_end[:, width:, width] = total
    return splits
