"""How much of a translator's attention to the source falls on nodes, beside their share of positions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer.analysis.work import attention_path
from treeformer.chunking import split_by_padding
from treeformer.data.batching import collate
from treeformer.data.buckets import Shape
from treeformer.data.split import Columns, Example, Split
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.report import corpus_of
from treeformer.inference.loading import load_run
from treeformer.machine import machine
from treeformer.models.pretrained import PreTrained
from treeformer.storage import write_file

QUANTILES = (5, 25, 50, 75, 95)
_TOKENS = 4096  # leaves, nodes and target tokens of a batch
Shares = NDArray[np.float64]


def attention_share(
    run: str | Path, split: str = "test", *, data: str | Path | None = None, device: str | None = None
) -> dict[str, Any]:
    """The share of cross-attention on nodes, by decoder layer, in percent.

    The model reads the reference. A sentence's share is the mean over heads and target tokens (``</s>``
    among them) of the attention that falls on nodes; spread is over sentences.

    Args:
        run: of a system that translates and reads trees.
        split: which examples.
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
    return {
        "split": split,
        "examples": len(examples),
        "layers": [_spread(layer) for layer in shares],
        "all": _spread(shares.mean(0)),
        "positions": _spread(positions),
        "above": 100 * float(np.mean(shares.mean(0) > positions)),  #: percent of sentences
        **machine(loaded.model.device),
    }


@torch.inference_mode()
def node_shares(model: PreTrained, examples: Split) -> Shares:
    """``[layers, N]``: the share of each sentence's cross-attention that falls on nodes."""
    sizes = examples.sizes.sum(1).tolist()
    found: dict[int, list[float]] = {}
    order = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    for numbers in split_by_padding(order, sizes.__getitem__, budget=_TOKENS):
        batch = _teacher_forced([examples[number] for number in numbers], model.device)
        output = model(**batch, output_attentions=True, use_cache=False)
        leaves, there = batch["input_ids"].shape[1], batch["labels"] != IGNORED
        layers = [_on_nodes(weights, leaves, there).tolist() for weights in output.cross_attentions]
        found |= dict(zip(numbers, zip(*layers, strict=True), strict=True))  # type: ignore[arg-type]
    return np.array([found[number] for number in range(len(examples))]).T


def _on_nodes(weights: Tensor, leaves: int, there: Tensor) -> Tensor:
    """``[B]``: of attention ``[B, H, q, leaves + nodes]`` what falls on nodes, where ``there [B, q]``."""
    nodes = weights.float()[..., leaves:].sum(-1).mean(1)
    return (nodes * there).sum(1) / there.sum(1)


def _teacher_forced(examples: Sequence[Example], device: torch.device) -> dict[str, Tensor]:
    """Sources and references, padded to the longest."""
    rows = Columns.of(examples)
    assert rows.target_ids is not None
    widths = [int(lists.lengths.max()) for lists in (rows.input_ids, rows.node_ids, rows.target_ids)]
    shape = Shape(len(examples), widths[0], widths[1], widths[2] + 1)  # and </s>
    return {name: tensor.to(device) for name, tensor in collate(rows, shape).items()}


def _spread(shares: Shares) -> dict[str, Any]:
    """Mean and quantiles over sentences, in percent."""
    percent = 100 * shares
    quantiles = dict(zip(map(str, QUANTILES), np.percentile(percent, QUANTILES).tolist(), strict=True))
    return {"mean": float(percent.mean()), "quantiles": quantiles}


def save_shares(found: dict[str, Any], run: Path, split: str) -> None:
    """Write them into the run folder."""
    path = attention_path(run, split)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (json.dumps(found, indent=1) + "\n").encode())
