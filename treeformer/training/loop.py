"""Training: from a recipe and a prepared corpus to a run folder."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.data.batching import BatchPlan
from treeformer.data.corpus import PreparedCorpus
from treeformer.machine import machine
from treeformer.model_folder import check_finite
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import WorkFolder
from treeformer.training import checkpoints
from treeformer.training.checkpoints import Checkpoint, Position
from treeformer.training.dev import DevSet, check_dev_settings
from treeformer.training.experiment import (
    Shards,
    build_model,
    check_trees,
    endless_updates,
    initialise_embeddings,
    training_examples,
    tree_limits,
)
from treeformer.training.metrics import MetricsFile, Throughput
from treeformer.training.pretrained import corpus_for, encoder_rate
from treeformer.training.processes import Processes, stop_signals
from treeformer.training.recipe import Recipe
from treeformer.training.runs import Run, RunFacts, peak_memory
from treeformer.training.timetable import Timetable
from treeformer.training.updates import Totals, Updater


def train(
    recipe: Recipe | str | Path,
    corpus: PreparedCorpus | str | Path,
    output: str | Path,
    *,
    seed: int = 1,
    device: str | None = None,
    progress: Progress | None = None,
    overrides: Sequence[str] = (),
) -> RunFacts:
    """Train a model in the folder ``output`` and return what its ``run.json`` records.

    A stopped run resumes from its last checkpoint; its final weights are those of a run that never stopped.
    A finished run is not changed. Ctrl-C and SIGTERM save a checkpoint after the current update and raise
    ``KeyboardInterrupt``. Under torchrun every process calls this, and all of them must see ``output``.

    Args:
        recipe: the experiment, or a path to its YAML file, or the name of a recipe of the package. Read
            from a file, it gets the ``data`` overrides with which the corpus was prepared.
        corpus: what `treeformer.data.preparation.prepare` returned, or its folder.
        output: the run folder.
        seed: seed of weights, order and dropout.
        device: ``cpu`` or ``cuda``; by default a GPU where there is one.
        progress: receives log lines; by default they go to standard error.
        overrides: changes to the YAML file, such as ``training.updates=100``.
    """
    if isinstance(recipe, Recipe) and overrides:
        raise ValueError("overrides: expected a path to a recipe; give them to Recipe.load instead")
    if not isinstance(corpus, PreparedCorpus):
        corpus = PreparedCorpus.open(corpus)
    if not isinstance(recipe, Recipe):
        recipe = Recipe.load(recipe, [*corpus.manifest.overrides, *overrides])
    processes = Processes(device)
    if progress is None:
        progress = terminal_progress("updates") if processes.first else Progress()
    output = Path(output)
    run = Run(output, recipe.resolved(), corpus, seed)
    processes.wait()  # no process writes to the folder before all have checked it
    if not run.facts.finished:
        with _locked(output, processes):
            run = Run(output, run.recipe, corpus, seed)  # another process may have just finished it
            if not run.facts.finished:
                run.corpus = _readable_corpus(run, processes, progress)
                with _determinism(run.recipe.training.deterministic), progress:
                    _Trainer(run, processes, progress, seed).train()
                return run.facts
    progress.log(f"{output}: this run is finished, after {run.facts.updates} updates")
    return run.facts


def _readable_corpus(run: Run, processes: Processes, progress: Progress) -> PreparedCorpus:
    """The corpus as the model reads it; the first process stores states of an encoder that are missing."""
    corpus = corpus_for(run.recipe, run.corpus, progress) if processes.first else run.corpus
    processes.wait()
    if processes.first:
        return corpus
    return corpus_for(run.recipe, PreparedCorpus.open(corpus.folder), progress)


@contextmanager
def _locked(output: Path, processes: Processes) -> Iterator[None]:
    """Let one training at a time write to a run folder; its first process holds the lock."""
    with WorkFolder(output) if processes.first else nullcontext():
        processes.wait()
        yield


class _Trainer:
    """Trains one run: `train` is the loop, everything else is a step of it."""

    def __init__(self, run: Run, processes: Processes, progress: Progress, seed: int) -> None:
        recipe, corpus = run.recipe, run.corpus
        self.run = run
        self.processes = processes
        self.progress = progress
        self.training = recipe.training
        self.metric = check_dev_settings(recipe, corpus)
        if processes.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(processes.device)
        torch.manual_seed(seed)
        self.model = build_model(recipe, corpus).train()
        check_trees(self.model, corpus)
        nn.Module.to(self.model, processes.device)
        torch.manual_seed(seed + 7919 * processes.rank)  # dropout differs between processes
        self.updater = Updater(
            self.model, self.training, process_count=processes.count, encoder_rate=encoder_rate(recipe)
        )
        self.examples = training_examples(recipe, corpus)
        self.plan = BatchPlan(
            self.examples.sizes,
            recipe.system.reads,
            self.training.tokens,
            seed,
            limits=tree_limits(self.model, self.examples) if self.training.graphs else None,
        )
        self.timetable = Timetable.of(self.training, len(self.plan))
        self.dev = DevSet(recipe, corpus, processes) if "dev" in corpus.manifest.splits else None
        self.position = self._start()
        self.throughput = Throughput(processes)
        self.metrics = MetricsFile(
            run.folder,
            self.position.step,
            tensorboard=self.training.tensorboard,
            enabled=processes.first,
        )

    def train(self) -> None:
        """Do all updates that are left, then choose the final weights."""
        position = self.position
        remaining = endless_updates(
            self.examples,
            self.plan,
            self.training,
            self.processes,
            epoch=position.epoch,
            place=position.place,
        )
        with stop_signals() as stop, closing(remaining) as updates:
            start = time.perf_counter() - position.seconds
            cpu_start = time.process_time() - position.cpu_seconds
            while not self._is_over():
                rate = self._update(self.throughput.next_shards(updates))
                if self._is_due(self.training.log_every):
                    self._log(rate)
                position.seconds = time.perf_counter() - start
                position.cpu_seconds = time.process_time() - cpu_start
                improved = self._is_due(self.timetable.evaluate_every) and self._evaluate()
                if improved or self._is_due(self.timetable.save_every) or self._is_over():
                    self._save()
                if improved:
                    self._export(self.model.state_dict())
                if self._stop_requested(stop):
                    self._save()
                    self.progress.log(
                        f"stopped after update {position.step}; run the same command again to resume"
                    )
                    raise KeyboardInterrupt
        self._finish()

    def _start(self) -> Position:
        """Write the run folder; return the start or the position of the last checkpoint."""
        run, first = self.run, self.processes.first
        checkpoint = checkpoints.latest(run.state, self.progress.log) if first else None
        step = self.processes.broadcast(checkpoint.position.step if checkpoint else None)
        vectors = initialise_embeddings(self.model, run.recipe, run.corpus) if step is None else None
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        if first:
            facts: dict[str, Any] = {"parameters": parameters, "processes": self.processes.count}
            if vectors is not None:
                facts["vectors"] = vectors
            run.begin(self.model, **facts, **machine(self.processes.device))
        if step is not None:
            return self._resume(checkpoint or checkpoints.load(run.state / str(step)))
        self.progress.log(
            f"{run.folder}: {run.recipe.model}, {parameters:,} parameters, "
            f"{len(self.examples):,} examples, {len(self.plan):,} updates per epoch"
        )
        if vectors is not None:
            self.progress.log(
                f"{run.recipe.vectors}: vectors of {vectors.with_vector:,} of {vectors.words:,} words"
            )
        return Position()

    def _resume(self, checkpoint: Checkpoint) -> Position:
        """Restore a checkpoint, and export the best model in case the run stopped before that."""
        position = checkpoint.position
        try:
            self.updater.load_state(checkpoint.tensors)
        except ValueError as error:
            raise ValueError(f"{self.run.state / str(position.step)}: {error}") from error
        self.processes.set_random_states(checkpoint.tensors["random"])
        if self.processes.first and position.best_step:
            try:
                best = checkpoints.load(self.run.state / str(position.best_step))
            except ValueError as error:  # pruned after a later best checkpoint, which is now damaged
                self.progress.log(f"warning: {error}; the exported model is kept for now")
            else:
                self.run.export(best.tensors["model"])
        self.progress.log(f"{self.run.folder}: resumes after update {position.step}")
        return position

    def _update(self, shards: Shards) -> float:
        """Change the weights once; return the learning rate."""
        position = self.position
        for shard in shards:
            self.updater.add(shard)
        position.step += 1
        position.place += 1
        if position.place == len(self.plan):
            position.epoch, position.place = position.epoch + 1, 0
        rate = self.timetable.rate(position.step)
        self.updater.step(rate)
        return rate

    def _is_over(self) -> bool:
        patience = self.training.patience
        out_of_patience = patience is not None and self.position.misses >= patience
        return out_of_patience or self.position.step >= self.timetable.updates

    def _is_due(self, every: int) -> bool:
        return self.position.step % every == 0 or self.position.step == self.timetable.updates

    def _log(self, rate: float) -> None:
        position, totals = self.position, self.updater.take_totals()
        self._check_finite(totals)
        self._check_folder()
        line = self.throughput.line(position.step, position.epoch, rate, totals)
        self.metrics.write(line)
        self.progress.update(
            position.step,
            self.timetable.updates,
            f"loss {line['loss']:.3f}, best {self.metric} {_rounded(position.best)}, "
            f"{line['tokens_per_second']:,.0f} tokens/s",
        )

    def _evaluate(self) -> bool:
        """Score the model on dev; return whether it is the best so far."""
        if self.dev is None:
            return False
        position = self.position
        score = self._score(self.dev, f"update {position.step}")
        improved = self._is_better(score)
        if improved:
            position.best, position.best_step, position.misses = score, position.step, 0
        else:
            position.misses += 1
        return improved

    def _score(self, dev: DevSet, title: str, **facts: int) -> float:
        """Score the model on dev and report all scores; return that of the metric."""
        scores = dev.scores(self.model)
        dev_scores = {f"dev_{name}": score for name, score in scores.items()}
        if not all(map(math.isfinite, scores.values())):
            self._refuse(f"the scores on dev became infinite or NaN at {title}")
        self._check_folder()
        self.metrics.write({"step": self.position.step, **facts, **dev_scores})
        listed = ", ".join(f"dev {name} {score:.4f}" for name, score in scores.items())
        mark = f", the best {self.metric} so far" if self._is_better(scores[self.metric]) else ""
        self.progress.log(f"{title}: {listed}{mark}")
        return scores[self.metric]

    def _is_better(self, score: float) -> bool:
        best = self.position.best
        if best is None:
            return True
        return score < best if self.metric == "loss" else score > best

    def _save(self) -> None:
        """Write a checkpoint and remove those that are not needed."""
        self._check_finite(Totals(*self.updater.totals.tolist()))
        random = self.processes.random_states()
        if not self.processes.first:
            return
        state = self.updater.state()
        for group, tensors in state.items():
            try:
                check_finite(group, tensors)
            except ValueError as error:
                self._refuse(f"after update {self.position.step} the {error}")
        self.run.check_folder()
        checkpoints.save(self.run.state, {**state, "random": random}, self.position)
        checkpoints.prune(
            self.run.state,
            every=self.timetable.save_every,
            keep=max(self.training.keep, self.training.average),
            wanted={self.position.best_step},
        )

    def _export(self, weights: Mapping[str, Tensor]) -> None:
        if self.processes.first:
            self.run.export(weights)

    def _check_folder(self) -> None:
        if self.processes.first:
            self.run.check_folder()

    def _check_finite(self, totals: Totals) -> None:
        """Refuse to continue with losses that are not finite: their weights must not be saved."""
        if not all(map(math.isfinite, totals)):
            self._refuse(
                f"the loss or its gradient became infinite or NaN in the {totals.updates:.0f} updates up to "
                f"{self.position.step}"
            )

    def _refuse(self, problem: str) -> None:
        """Raise ``ValueError``: training cannot continue, and what was saved before stays."""
        saved = checkpoints.steps(self.run.state)
        raise ValueError(
            f"{self.run.folder}: {problem} (last checkpoint: {saved[-1] if saved else 'none'}); "
            "try a lower learning rate, more warm-up or clipping"
        )

    def _stop_requested(self, stop: Event) -> bool:
        """Whether any process was asked to stop; several processes check when they log."""
        if self.processes.count == 1:
            return stop.is_set()
        if self.position.step % self.training.log_every:
            return False
        requests = torch.tensor([float(stop.is_set())], device=self.processes.device)
        return self.processes.sum(requests).item() > 0

    def _finish(self) -> None:
        """Export the final weights and record how the run went."""
        position, run = self.position, self.run
        steps = self._steps_to_average()
        mean = self._mean_of_checkpoints(steps) if steps else None
        if mean is not None:
            self._export(mean)
        elif self.dev is None:
            self._export(self.model.state_dict())
        if self.processes.first:
            run.check_folder()
            run.check_model()
            run.update(
                finished=True,
                updates=position.step,
                metric=self.metric,
                best=position.best,
                best_step=position.best_step,
                averaged=0 if mean is None else len(steps),
                seconds=round(position.seconds, 1),
                cpu_seconds=round(position.cpu_seconds, 1),
                peak_memory=peak_memory(self.processes.device),
            )
        source = f"after update {position.best_step}" if mean is None else "with the mean of checkpoints"
        self.progress.log(
            f"{run.folder}: {position.step} updates in {position.seconds:.0f} s; "
            f"{self.metric} {_rounded(position.best)} on dev {source}"
        )

    def _steps_to_average(self) -> list[int]:
        """Steps of the last regular checkpoints; a short run has fewer than the recipe asks for."""
        if self.training.average == 1:
            return []
        every = self.timetable.save_every
        regular = [step for step in checkpoints.steps(self.run.state) if step % every == 0]
        return regular[-self.training.average :]

    def _mean_of_checkpoints(self, steps: Sequence[int]) -> dict[str, Tensor] | None:
        """Mean of the weights of checkpoints, None if the best checkpoint is better on dev."""
        weights = [checkpoints.load(self.run.state / str(step)).tensors["model"] for step in steps]
        mean = checkpoints.average(weights)
        if self.dev is None:
            return mean
        self.updater.load_weights(mean)
        title = f"mean of the checkpoints {', '.join(map(str, steps))}"
        score = self._score(self.dev, title, averaged=len(steps))
        if not self.training.prefer_average and not self._is_better(score):
            return None
        self.position.best = score
        return mean


@contextmanager
def _determinism(wanted: bool) -> Iterator[None]:
    """Make results on a GPU repeat bit for bit, if wanted; on a CPU they always do."""
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


def _rounded(score: float | None) -> str:
    return "none" if score is None else f"{score:.4f}"
