"""Losses: sums over the targets of a batch, so that the shards of an update can be added up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from treeformer.data.vocabulary import IGNORED, UNKNOWN

TARGETS = ("labels", "leaf_targets", "node_targets")  #: names in a batch that are not inputs of a model


def logits_and_targets(
    model: nn.Module, batch: Mapping[str, Tensor], *, sentences: bool = False
) -> tuple[Tensor, Tensor]:
    """Logits ``[..., classes]`` of the model, and targets ``[...]``, −100 where there is none.

    The targets are those of all leaves and nodes if the batch has them, else the labels: tokens of a
    translation or classes of sentences.

    Args:
        model: a classifier or a translator.
        batch: inputs and targets.
        sentences: use the classes of sentences, even if the batch has those of phrases.
    """
    inputs: dict[str, Any] = {name: tensor for name, tensor in batch.items() if name not in TARGETS}
    labels = batch.get("labels")
    if labels is not None and labels.ndim == 2:
        shifted = model.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
        return model(**inputs, decoder_input_ids=shifted, use_cache=False).logits, labels
    output = model(**inputs)
    if sentences or "node_targets" not in batch:
        if labels is None:
            raise ValueError("batch: expected labels or node_targets, got neither")
        return output.logits, labels
    logits = torch.cat([output.leaf_logits, output.node_logits], dim=1)
    return logits, torch.cat([batch["leaf_targets"], batch["node_targets"]], dim=1)


def cross_entropy_sum(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Sum of the cross-entropy over all targets, computed in float32 at least.

    A smoothed target gives ``1 − smoothing`` to the class and spreads ``smoothing`` over all classes.
    """
    return F.cross_entropy(
        _wide(logits).flatten(0, -2),
        targets.flatten(),
        ignore_index=IGNORED,
        reduction="sum",
        label_smoothing=smoothing,
    )


def divergence_sum(one: Tensor, other: Tensor, targets: Tensor) -> Tensor:
    """Sum over all targets of the mean of both Kullback-Leibler divergences of ``[..., classes]`` logits."""
    p, q = _wide(one).log_softmax(-1), _wide(other).log_softmax(-1)
    divergence = ((p.exp() - q.exp()) * (p - q)).sum(-1) / 2
    return divergence.masked_fill(targets == IGNORED, 0).sum()


def _wide(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def with_unknown_words(batch: Mapping[str, Tensor], rate: float) -> Mapping[str, Tensor]:
    """The batch with a random share of its source tokens replaced by the unknown token."""
    if not rate:
        return batch
    ids = batch["input_ids"]
    drawn = torch.rand(ids.shape, device=ids.device) < rate
    return {**batch, "input_ids": ids.masked_fill(drawn & (ids > UNKNOWN), UNKNOWN)}


def loss_sum(
    model: nn.Module,
    batch: Mapping[str, Tensor],
    *,
    smoothing: float = 0.0,
    r_drop: float = 0.0,
    word_dropout: float = 0.0,
    sentences: bool = False,
) -> tuple[Tensor, Tensor]:
    """Loss summed over the targets of a batch, and the number of targets; see `logits_and_targets`.

    Word dropout teaches a model what an unknown word is, and not to rely on single words.

    With R-Drop (Liang et al. 2021) the batch is read twice with different dropout. The loss of a target is
    the mean of both cross-entropies plus ``r_drop / 2`` times the divergence of both answers. That is half
    of the paper's loss, so that a learning rate suits training with and without R-Drop.
    """
    if not r_drop:
        read = with_unknown_words(batch, word_dropout)
        logits, targets = logits_and_targets(model, read, sentences=sentences)
        return cross_entropy_sum(logits, targets, smoothing), (targets != IGNORED).sum()
    twice = {name: torch.cat([tensor, tensor]) for name, tensor in batch.items()}
    read = with_unknown_words(twice, word_dropout)
    logits, targets = logits_and_targets(model, read, sentences=sentences)
    entropy = cross_entropy_sum(logits, targets, smoothing)
    one, other = logits.chunk(2)
    targets = targets.chunk(2)[0]
    divergence = divergence_sum(one, other, targets)
    return (entropy + r_drop * divergence) / 2, (targets != IGNORED).sum()
