"""How good a model is on the dev set, while it learns."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from treeformer.data.batching import BatchPlan, Reads, loader
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.split import Split
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.accuracy import right_classes, right_halves
from treeformer.evaluation.translation import corpus_score, token_bleu
from treeformer.training.losses import cross_entropy_sum, logits_and_targets
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe

_TOKENS = 8192  # leaves and nodes at once, or as many as an update has


class DevSet:
    """Sentences that a model does not learn from; each process keeps its share of them on its device.

    Args:
        split: the examples.
        reads: what the system reads.
        right: whether logits ``[B, classes]`` give the classes ``[B]``; None for translation.
        words: what tokens stand for; if given, translations are made and scored, too.
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
        words: Callable[[list[int]], list[str]] | None,
        tokens: int,
        processes: Processes,
        bf16: bool,
    ) -> None:
        self._right = right
        self._words = words
        self._processes = processes
        self._bf16 = bf16
        plan = BatchPlan(split.sizes, reads, max(tokens, _TOKENS), seed=0)
        batches = loader(split, plan, 0, rank=processes.rank, shards=processes.count)
        self._batches = [
            {name: tensor.to(processes.device) for name, tensor in batch.items()} for batch in batches
        ]

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, float]:
        """Mean cross-entropy of target tokens or of classes, accuracy of classes, BLEU if asked for."""
        device = self._processes.device
        sums = torch.zeros(3, dtype=torch.float64, device=device)
        model.eval()
        for batch in self._batches:
            with torch.autocast(device.type, torch.bfloat16, enabled=self._bf16):
                logits, targets = logits_and_targets(model, batch, sentences=True)
            there = targets != IGNORED
            right = there if self._right is None else self._right(logits, targets) & there
            sums += torch.stack([cross_entropy_sum(logits, targets).double(), there.sum(), right.sum()])
        loss, count, right_count = self._processes.sum(sums).tolist()
        scores = {"loss": loss / count}
        if self._right is not None:
            scores["accuracy"] = right_count / count
        if self._words is not None:
            scores["bleu"] = self._bleu(model, self._words)
        model.train()
        return scores

    def _bleu(self, model: nn.Module, words: Callable[[list[int]], list[str]]) -> float:
        """BLEU of tokens, from 0 to 100, of translations by greedy search."""
        found: list[tuple[str, str]] = []
        for batch in self._batches:
            inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
            longest = 2 * batch["labels"].shape[1] + 10
            with torch.autocast(self._processes.device.type, torch.bfloat16, enabled=self._bf16):
                ids = model.generate(**inputs, num_beams=1, max_new_tokens=longest)  # type: ignore[operator]
            for label, answer in zip(batch["labels"].tolist(), ids.tolist(), strict=True):
                reference = [token for token in label if token != IGNORED]
                if reference:
                    found.append((" ".join(words(answer)), " ".join(words(reference))))
        answers, references = zip(*self._processes.gather(found), strict=True)
        return corpus_score(token_bleu(), answers, references).score


def dev_set(recipe: Recipe, corpus: PreparedCorpus, processes: Processes) -> DevSet | None:
    """The dev set of a corpus, None where it has none; refuses settings that need one then."""
    training = recipe.training
    if "dev" not in corpus.manifest.splits:
        if training.patience is not None:
            raise ValueError("training.patience: this corpus has no split dev to look at")
        return None
    if (training.metric == "bleu") > (corpus.manifest.kind == "translation"):
        raise ValueError("training.metric: expected accuracy or loss for a classifier, got bleu")
    if (training.metric == "accuracy") > (corpus.manifest.kind == "classification"):
        raise ValueError("training.metric: expected loss or bleu for a translator, got accuracy")
    right = None
    if corpus.manifest.kind == "classification":
        right = right_halves if corpus.manifest.halves else right_classes
    return DevSet(
        corpus["dev"],
        recipe.system.reads,
        right,
        words=corpus.processor.words if training.metric == "bleu" else None,
        tokens=training.tokens,
        processes=processes,
        bf16=training.bf16,
    )
