"""How good a model is on the dev set, while it learns."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from treeformer.data.batching import BatchPlan, Reads, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.split import Split
from treeformer.evaluation.accuracy import right_classes, right_halves
from treeformer.models.pretrained import IGNORED
from treeformer.training.losses import cross_entropy_sum, logits_and_targets
from treeformer.training.processes import Processes
from treeformer.training.recipe import ExperimentRecipe

_TOKENS = 8192  # leaves and nodes at once, or as many as an update has


class DevSet:
    """Sentences that a model does not learn from; each process keeps its share of them on its device.

    Args:
        split: the examples.
        reads: what the system reads.
        right: whether logits ``[B, classes]`` give the classes ``[B]``; None for translation.
        tokens: leaves and nodes of an update.
        processes: who share the work.
        bf16: compute in bfloat16 where that is safe.
    """

    def __init__(
        self,
        split: Split,
        reads: Reads,
        right: Callable[[Tensor, Tensor], Tensor] | None,
        *,
        tokens: int,
        processes: Processes,
        bf16: bool,
    ) -> None:
        self._right = right
        self._processes = processes
        self._bf16 = bf16
        plan = BatchPlan(split.sizes, reads, max(tokens, _TOKENS), seed=0)
        batches = loader(split, plan, 0, rank=processes.rank, shards=processes.count)
        self._batches = [
            {name: tensor.to(processes.device) for name, tensor in batch.items()} for batch in batches
        ]

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, float]:
        """Mean cross-entropy of target tokens or of classes of sentences, and for these the accuracy."""
        device = self._processes.device
        sums = torch.zeros(3, dtype=torch.float64, device=device)
        model.eval()
        for batch in self._batches:
            with torch.autocast(device.type, torch.bfloat16, enabled=self._bf16):
                logits, targets = logits_and_targets(model, batch, sentences=True)
            there = targets != IGNORED
            right = there if self._right is None else self._right(logits, targets) & there
            sums += torch.stack([cross_entropy_sum(logits, targets).double(), there.sum(), right.sum()])
        model.train()
        loss, count, right_count = self._processes.sum(sums).tolist()
        scores = {"loss": loss / count}
        return scores if self._right is None else {**scores, "accuracy": right_count / count}


def dev_set(recipe: ExperimentRecipe, corpus: PreparedCorpus, processes: Processes) -> DevSet | None:
    """The dev set of a corpus, None where it has none; refuses settings that need one then."""
    training = recipe.training
    if "dev" not in corpus.manifest.splits:
        if training.patience is not None:
            raise ValueError("training.patience: this corpus has no split dev to look at")
        return None
    right = None
    if corpus.manifest.kind == "classification":
        right = right_halves if corpus.manifest.halves else right_classes
    return DevSet(
        corpus["dev"],
        recipe.system.reads,
        right,
        tokens=training.tokens,
        processes=processes,
        bf16=training.bf16,
    )
