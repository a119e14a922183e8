"""Scores of a model on the dev set during training."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from treeformer.data.batching import BatchPlan, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.accuracy import right_classes, right_halves
from treeformer.evaluation.translation import corpus_score, token_bleu
from treeformer.training.losses import cross_entropy_sum, logits_and_targets
from treeformer.training.processes import Processes
from treeformer.training.recipe import Metric, Recipe

_TOKENS = 8192  # leaves and nodes in a batch, or those of an update if that is more


class DevSet:
    """Examples of the split dev; each process keeps its share of them on its device, but no stored states.

    Args:
        recipe: the experiment, resolved.
        corpus: a corpus with a split ``dev``.
        processes: the processes that share the examples.
    """

    def __init__(self, recipe: Recipe, corpus: PreparedCorpus, processes: Processes) -> None:
        training, split = recipe.training, corpus["dev"]
        self._manifest = corpus.manifest
        self._processes = processes
        self._bf16 = training.bf16
        self._batches: Callable[[], Iterator[dict[str, Tensor]]]
        self._words = corpus.processor.words if training.metric == "bleu" else None
        plan = BatchPlan(split.sizes, recipe.system.reads, max(training.tokens, _TOKENS), seed=0)

        def batches() -> Iterator[dict[str, Tensor]]:
            for batch in loader(split, plan, 0, rank=processes.rank, shards=processes.count):
                yield {name: tensor.to(processes.device) for name, tensor in batch.items()}

        kept = None if corpus.states else [*batches()]  # states of words may not fit into memory
        self._batches = batches if kept is None else lambda: iter(kept)

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, float]:
        """Mean cross-entropy of the targets, accuracy of a classifier, and BLEU if it is the metric."""
        device = self._processes.device
        sums = torch.zeros(3, dtype=torch.float64, device=device)
        model.eval()
        for batch in self._batches():
            with torch.autocast(device.type, torch.bfloat16, enabled=self._bf16):
                logits, targets = logits_and_targets(model, batch, sentences=True)
            counted = targets != IGNORED
            right = self._right(logits, targets) & counted
            sums += torch.stack([cross_entropy_sum(logits, targets).double(), counted.sum(), right.sum()])
        loss, count, right_count = self._processes.sum(sums).tolist()
        scores = {"loss": loss / count}
        if self._manifest.kind == "classification":
            scores["accuracy"] = right_count / count
        if self._words is not None:
            scores["bleu"] = self._bleu(model)
        model.train()
        return scores

    def _right(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Whether each class is predicted correctly; all False for a translator."""
        if self._manifest.kind == "translation":
            return torch.zeros_like(targets, dtype=torch.bool)
        return right_halves(logits, targets) if self._manifest.halves else right_classes(logits, targets)

    def _bleu(self, model: nn.Module) -> float:
        """BLEU of tokens, from 0 to 100, of translations by greedy search."""
        assert self._words is not None
        pairs: list[tuple[str, str]] = []
        for batch in self._batches():
            inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
            longest = 2 * batch["labels"].shape[1] + 10
            with torch.autocast(self._processes.device.type, torch.bfloat16, enabled=self._bf16):
                ids = model.generate(**inputs, num_beams=1, max_new_tokens=longest)  # type: ignore[operator]
            for label, answer in zip(batch["labels"].tolist(), ids.tolist(), strict=True):
                reference = [token for token in label if token != IGNORED]
                if reference:
                    pairs.append((" ".join(self._words(answer)), " ".join(self._words(reference))))
        answers, references = zip(*self._processes.gather(pairs), strict=True)
        return corpus_score(token_bleu(), answers, references).score


def check_dev_settings(recipe: Recipe, corpus: PreparedCorpus) -> Metric:
    """The metric that chooses the best model; ``ValueError`` if the corpus does not have it."""
    training, kind = recipe.training, corpus.manifest.kind
    if training.patience is not None and "dev" not in corpus.manifest.splits:
        raise ValueError("training.patience: this corpus has no split dev to evaluate")
    if kind == "classification":
        if training.metric == "bleu":
            raise ValueError("training.metric: expected accuracy or loss for a classifier, got bleu")
        return training.metric or "accuracy"
    if training.metric == "accuracy":
        raise ValueError("training.metric: expected loss or bleu for a translator, got accuracy")
    return training.metric or "loss"
