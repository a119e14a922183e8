"""Training: from a recipe and a prepared corpus to a run folder, going on where it stopped."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.data.batching import BatchPlan
from treeformer.data.corpus import PreparedCorpus
from treeformer.machine import machine
from treeformer.models.pretrained import PreTrained
from treeformer.progress import Progress, terminal_progress
from treeformer.training import checkpoints
from treeformer.training.dev import dev_set
from treeformer.training.experiment import Parts, examples_of, model_of, start_from_vectors, updates_of
from treeformer.training.interruption import Interruption
from treeformer.training.meters import Meters
from treeformer.training.metrics import metric_writer
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe
from treeformer.training.runs import Run, peak_memory
from treeformer.training.state import Position, load_weights, pack, unpack
from treeformer.training.updates import Totals, Updater


def train(
    recipe: Recipe,
    corpus: PreparedCorpus,
    output: str | Path,
    *,
    seed: int = 1,
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model and leave it in the folder ``output``; what ``run.json`` there says.

    A run that was stopped goes on from its last checkpoint and ends as if it had not been. One that is
    finished is left alone. Ctrl-C and SIGTERM save after the update at hand and raise ``KeyboardInterrupt``.
    Under torchrun all processes call this; all of them must see ``output``.

    Args:
        recipe: the experiment.
        corpus: what ``treeformer prepare`` made for it.
        output: the run folder.
        seed: of weights, order and dropout.
        device: ``cpu`` or ``cuda``; by default a GPU where there is one.
        progress: who is told how it goes; by default standard error.
    """
    processes = Processes(device)
    if progress is None:
        progress = terminal_progress("updates") if processes.first else Progress()
    run = Run(Path(output), recipe.resolved(), corpus, seed)
    processes.wait()  # all have looked at the folder before one writes there
    if run.finished:
        progress.log(f"{output}: this run is finished, after {run.facts['updates']} updates")
        return run.facts
    with _determinism(run.recipe.training.deterministic), progress:
        _Training(run, processes, progress, seed).go()
    return run.facts


class _Training:
    """A run on its way."""

    def __init__(self, run: Run, processes: Processes, progress: Progress, seed: int) -> None:
        self.run = run
        self.processes = processes
        self.progress = progress
        self.training = run.recipe.training
        if processes.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(processes.device)
        torch.manual_seed(seed)
        model = model_of(run.recipe, run.corpus).train()
        nn.Module.to(model, processes.device)
        torch.manual_seed(seed + 7919 * processes.rank)  # each process has a dropout of its own
        self.updater = Updater(model, self.training, processes=processes.count)
        self.examples = examples_of(run.recipe, run.corpus)
        self.plan = BatchPlan(self.examples.sizes, run.recipe.system.reads, self.training.tokens, seed)
        self.dev = dev_set(run.recipe, run.corpus, processes)
        self.metric = self.training.metric or ("accuracy" if run.corpus.manifest.classes else "loss")
        self.position = self._begin(model)
        self.meters = Meters(processes)
        self.tell = metric_writer(
            run.folder, self.position.step, tensorboard=self.training.tensorboard, first=processes.first
        )

    def _begin(self, model: PreTrained) -> Position:
        """Start, or go on from the last checkpoint."""
        state, first = self.run.state, self.processes.first
        found = checkpoints.latest(state, self.progress.log) if first else None
        step = self.processes.agree(found.facts["step"] if found else None)
        vectors = start_from_vectors(model, self.run.recipe, self.run.corpus) if step is None else None
        parameters = sum(parameter.numel() for parameter in model.parameters())
        if first:
            facts: dict[str, Any] = {"parameters": parameters, "processes": self.processes.count}
            if vectors:
                facts["vectors"] = vectors._asdict()
            self.run.begin(model, **facts, **machine(self.processes.device))
        if step is None:
            self.progress.log(
                f"{self.run.folder}: {self.run.recipe.model}, {parameters:,} parameters, "
                f"{len(self.examples):,} examples, {len(self.plan):,} updates an epoch"
            )
            if vectors:
                self.progress.log(
                    f"{self.run.recipe.vectors}: vectors of {vectors.found:,} of {vectors.words:,} words"
                )
            return Position()
        position = unpack(found or checkpoints.load(state / str(step)), self.updater, self.processes)
        if first and position.best_step:
            self._export_again(position.best_step)
        self.progress.log(f"{self.run.folder}: goes on after update {step}")
        return position

    def _export_again(self, best: int) -> None:
        """Export the best model so far, in case the run was stopped between its checkpoint and its export."""
        try:
            weights = checkpoints.load(self.run.state / str(best)).tensors["model"]
        except ValueError as error:  # a later one was the best, and is broken
            self.progress.log(f"warning: {error}; the model that is there stays for now")
        else:
            self.run.export(weights)

    def go(self) -> None:
        """All updates that are left, and the end."""
        with Interruption() as interruption, closing(self._updates()) as updates:
            start = time.perf_counter() - self.position.seconds
            while not self._over():
                self._update(self.meters.wait_for(updates))
                self.position.seconds = time.perf_counter() - start
                self._look_and_save()
                if self._asked(interruption):
                    self._save()
                    self.progress.log(f"stopped after update {self.position.step}; the same command goes on")
                    raise KeyboardInterrupt
        self._finish()

    def _over(self) -> bool:
        patience = self.training.patience
        return self.position.step >= self.training.updates or (
            patience is not None and self.position.misses >= patience
        )

    def _updates(self) -> Generator[Parts, None, None]:
        """The updates that are left, and more."""
        return updates_of(
            self.examples,
            self.plan,
            self.training,
            epoch=self.position.epoch,
            place=self.position.place,
            rank=self.processes.rank,
            processes=self.processes.count,
            pin_memory=self.processes.device.type == "cuda",
        )

    def _update(self, parts: Parts) -> None:
        training, position = self.training, self.position
        for part in parts:
            self.updater.add(part)
        position.step += 1
        position.place += 1
        if position.place == len(self.plan):
            position.epoch, position.place = position.epoch + 1, 0
        rate = training.rate(position.step)
        self.updater.step(rate)
        if position.step % training.log_every == 0 or position.step == training.updates:
            self._log(rate)

    def _log(self, rate: float) -> None:
        position = self.position
        line = self.meters.line(
            position.step, position.epoch, rate, self._checked(self.updater.take_totals())
        )
        self.tell(line)
        self.progress.update(
            position.step,
            self.training.updates,
            f"loss {line['loss']:.3f}, best {self.metric} {_shown(position.best)}, "
            f"{line['tokens_per_second']:,.0f} tokens/s",
        )

    def _look_and_save(self) -> None:
        """Look at dev and write a checkpoint, where it is time to."""
        training, step = self.training, self.position.step
        last = step == training.updates
        gained = (step % training.evaluate_every == 0 or last) and self._look()
        if gained or last or step % training.saves_every == 0 or self._over():
            self._save()
        if gained and self.processes.first:
            self.run.export(self.updater.model.state_dict())

    def _look(self) -> bool:
        """Score the model on dev; whether it is the best so far."""
        if self.dev is None:
            return False
        position = self.position
        scores = self.dev.scores(self.updater.model)
        gained = self._better(scores[self.metric])
        position.misses = 0 if gained else position.misses + 1
        if gained:
            position.best, position.best_step = scores[self.metric], position.step
        self.tell({"step": position.step, **_dev(scores)})
        self.progress.log(f"update {position.step}: {_told(scores)}{', the best so far' if gained else ''}")
        return gained

    def _better(self, score: float) -> bool:
        best = self.position.best
        return best is None or (score < best if self.metric == "loss" else score > best)

    def _save(self) -> None:
        self._checked(Totals(*self.updater.totals.tolist()))
        packed = pack(self.updater, self.position, self.processes)
        if not self.processes.first:
            return
        checkpoints.save(self.run.state, self.position.step, *packed)
        checkpoints.prune(
            self.run.state,
            every=self.training.saves_every,
            keep=max(self.training.keep, self.training.average),
            wanted={self.position.best_step},
        )

    def _checked(self, totals: Totals) -> Totals:
        """The same, or an error if they are no numbers: then weights are lost, and must not be saved."""
        if not all(map(math.isfinite, totals)):
            there = checkpoints.steps(self.run.state)
            raise ValueError(
                f"{self.run.folder}: the loss or its gradient is no finite number since the last of "
                f"{totals.updates:.0f} updates up to {self.position.step} "
                f"(last checkpoint: {there[-1] if there else 'none'}); "
                "try a lower learning rate, more warm-up or clipping"
            )
        return totals

    def _asked(self, interruption: Interruption) -> bool:
        """Whether any process was asked to stop; several processes compare notes when they write metrics."""
        if self.processes.count == 1:
            return interruption.asked
        if self.position.step % self.training.log_every:
            return False
        asked = torch.tensor([float(interruption.asked)], device=self.processes.device)
        return self.processes.sum(asked).item() > 0

    def _finish(self) -> None:
        """Choose the weights that stay, and say how it went."""
        position, run = self.position, self.run
        chosen = self._last_checkpoints() if self.training.average > 1 else []
        averaged = self._averaged(chosen) if chosen else None
        if self.processes.first:
            if averaged is not None:
                run.export(averaged)
            elif self.dev is None:
                run.export(self.updater.model.state_dict())
            run.tell(
                finished=True,
                updates=position.step,
                metric=self.metric,
                best=position.best,
                best_step=position.best_step,
                averaged=0 if averaged is None else len(chosen),
                seconds=round(position.seconds, 1),
                peak_memory=peak_memory(self.processes.device),
            )
        self.progress.log(
            f"{run.folder}: {position.step} updates in {position.seconds:.0f} s; {self.metric} "
            f"{_shown(position.best)} on dev "
            + (f"after update {position.best_step}" if averaged is None else "with the mean of checkpoints")
        )

    def _last_checkpoints(self) -> list[int]:
        """Steps of the checkpoints to average; a short run has fewer than were asked for."""
        every = self.training.saves_every
        regular = [step for step in checkpoints.steps(self.run.state) if step % every == 0]
        return regular[-self.training.average :]

    def _averaged(self, chosen: list[int]) -> dict[str, Tensor] | None:
        """The mean of these checkpoints, None if the best single one is better on dev and may be kept."""
        state = self.run.state
        mean = checkpoints.average([checkpoints.load(state / str(step)).tensors["model"] for step in chosen])
        if self.dev is None:
            return mean
        load_weights(self.updater, mean)
        scores = self.dev.scores(self.updater.model)
        self.tell({"step": self.position.step, "averaged": len(chosen), **_dev(scores)})
        self.progress.log(f"mean of the checkpoints {', '.join(map(str, chosen))}: {_told(scores)}")
        if not (self.training.prefer_average or self._better(scores[self.metric])):
            return None
        self.position.best = scores[self.metric]
        return mean


@contextmanager
def _determinism(wanted: bool) -> Iterator[None]:
    """Within it, a GPU gives the same bits in each run, if that is wanted; a CPU does anyway."""
    before = torch.are_deterministic_algorithms_enabled()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if wanted:
            torch.use_deterministic_algorithms(before)


def _dev(scores: dict[str, float]) -> dict[str, float]:
    return {f"dev_{name}": score for name, score in scores.items()}


def _told(scores: dict[str, float]) -> str:
    return ", ".join(f"dev {name} {_shown(score)}" for name, score in scores.items())


def _shown(score: float | None) -> str:
    return "none" if score is None else f"{score:.4f}"
