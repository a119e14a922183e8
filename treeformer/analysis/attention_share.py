"""Share of a translator's cross-attention that falls on nodes, and the share of nodes among positions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer.analysis.results import AttentionShare, Spread
from treeformer.chunking import split_by_padding
from treeformer.data.batching import collate
from treeformer.data.buckets import Shape
from treeformer.data.examples import Columns, Example
from treeformer.data.split import Split
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.report import corpus_of
from treeformer.inference.loading import load_run
from treeformer.machine import machine
from treeformer.models.pretrained import PreTrained

QUANTILES = (5, 25, 50, 75, 95)
_TOKENS = 4096  # leaves, nodes and target tokens of a batch
Shares = NDArray[np.float64]


def attention_share(
    run: str | Path, split: str = "test", data: str | Path | None = None, *, device: str | None = None
) -> AttentionShare:
    """Measure the share of cross-attention on nodes, by decoder layer, in percent.

    The decoder is fed the reference. The share of a sentence is the mean over heads and target tokens
    (``</s>`` included). Means and quantiles are over sentences.

    Args:
        run: the folder of a translator that reads trees.
        split: the split of the prepared corpus.
        data: the prepared corpus; by default the one that the model was trained on.
        device: see `load_run`.
    """
    loaded = load_run(run, "translation", device=device)
    if loaded.system.reads != "trees":
        raise ValueError(f"{run}: a {loaded.system.name} reads no trees, expected a tree-transformer")
    examples = corpus_of(Path(run), data, loaded.processor)[split]
    shares = node_shares(loaded.model, examples)
    leaves, nodes, _ = examples.sizes.T
    positions = nodes / (leaves + nodes)
    return AttentionShare(
        split=split,
        examples=len(examples),
        layers=[_spread(layer) for layer in shares],
        all=_spread(shares.mean(0)),
        positions=_spread(positions),
        above=100 * float(np.mean(shares.mean(0) > positions)),
        **machine(loaded.model.device),
    )


@torch.inference_mode()
def node_shares(model: PreTrained, examples: Split) -> Shares:
    """``[layers, N]``: the share of each sentence's cross-attention that falls on nodes."""
    sizes = examples.sizes.sum(1).tolist()
    shares: dict[int, list[float]] = {}
    longest_first = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    for numbers in split_by_padding(longest_first, sizes.__getitem__, budget=_TOKENS):
        batch = _teacher_forced([examples[number] for number in numbers], model.device)
        output = model(**batch, output_attentions=True, use_cache=False)
        leaves, is_target = batch["input_ids"].shape[1], batch["labels"] != IGNORED
        layers = torch.stack([_share_on_nodes(each, leaves, is_target) for each in output.cross_attentions])
        shares |= dict(zip(numbers, layers.T.tolist(), strict=True))
    return np.array([shares[number] for number in range(len(examples))]).T


def _share_on_nodes(weights: Tensor, leaves: int, is_target: Tensor) -> Tensor:
    """``[B]``: share on nodes of attention ``[B, H, q, leaves + nodes]``, mean where ``is_target [B, q]``."""
    on_nodes = weights.float()[..., leaves:].sum(-1).mean(1)
    return (on_nodes * is_target).sum(1) / is_target.sum(1)


def _teacher_forced(examples: Sequence[Example], device: torch.device) -> dict[str, Tensor]:
    """Sources and references, padded to the longest."""
    rows = Columns.of(examples)
    assert rows.target_ids is not None
    widths = [int(lists.lengths.max()) for lists in (rows.input_ids, rows.node_ids, rows.target_ids)]
    shape = Shape(len(examples), widths[0], widths[1], widths[2] + 1)  # and </s>
    return {name: tensor.to(device) for name, tensor in collate(rows, shape).items()}


def _spread(shares: Shares) -> Spread:
    percent = 100 * shares
    quantiles = dict(zip(map(str, QUANTILES), np.percentile(percent, QUANTILES).tolist(), strict=True))
    return Spread(mean=float(percent.mean()), quantiles=quantiles)
