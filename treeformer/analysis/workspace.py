"""The folder of a reproduction: prepared corpora, runs and logs, and the commands still to be run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

import treeformer
from treeformer.analysis.results import AttentionShare, RunResult, SplitScores
from treeformer.analysis.rows import Cell, Row
from treeformer.analysis.runner import Command, Job
from treeformer.analysis.runner import treeformer as command
from treeformer.configuration import first_problem, read_json
from treeformer.data.corpus import MANIFEST
from treeformer.evaluation.predictions import predictions_path
from treeformer.inference.loading import run_facts
from treeformer.storage import write_file
from treeformer.training.recipe import Recipe
from treeformer.training.runs import changes_since

_COMMIT = ".commit"


@dataclass(frozen=True)
class Workspace:
    """Prepared corpora, runs and logs of a reproduction.

    folder: has ``prepared/``, ``runs/`` and ``logs/``.
    recipes: folder of the recipes.
    data: data to prepare corpora from; not needed if all are prepared.
    device: device of training and evaluation; None for the default.
    workers: number of parallel processes that parse.
    commit: commit of the source, recorded with each run.
    """

    folder: Path
    recipes: Path
    data: Path | None = None
    device: str | None = None
    workers: int = 1
    commit: str | None = None

    def run(self, cell: Cell) -> Path:
        """The run folder of a cell."""
        return self.folder / "runs" / cell.name

    def prepared(self, row: Row) -> Path:
        """The prepared corpus of a row."""
        return self.folder / "prepared" / row.corpus

    def recipe(self, row: Row) -> Recipe:
        """The recipe of a row, with its changes."""
        return Recipe.load(self._recipe_path(row), row.all_changes).resolved()

    def _recipe_path(self, row: Row) -> Path:
        return self.recipes / f"{row.task}.yaml"

    def state(self, cell: Cell) -> str:
        """``done``, ``trained``, ``begun`` or ``missing``; ``other recipe`` if the run has another one."""
        facts = run_facts(self.run(cell))
        if not facts:
            return "missing"
        if changes_since(facts["recipe"], self.recipe(cell.row)):
            return "other recipe"
        if not facts["finished"]:
            return "begun"
        return "trained" if self._evaluations(cell) else "done"

    def result(self, cell: Cell) -> RunResult:
        """Facts and scores of a cell that is done."""
        run = self.run(cell)
        commit = run / _COMMIT
        text = commit.read_text(encoding="utf-8").strip() if commit.is_file() else ""
        facts = {**run_facts(run), "commit": text or None}
        content = {name: facts.get(name) for name in RunResult.model_fields}
        content["tests"] = {split: _split_scores(run, split) for split in cell.row.splits}
        del content["attention"]
        if cell.row.attention:
            content["attention"] = AttentionShare.load(attention_path(run, cell.row.splits[0]))
        return RunResult.model_validate(content)

    def jobs(self, cells: Sequence[Cell]) -> list[Job]:
        """Jobs that complete these cells; the job of a corpus precedes the first cell that needs it."""
        corpora: dict[str, Job] = {}
        jobs = []
        for cell in cells:
            name = cell.row.corpus
            if name not in corpora and not self._is_done(cell):
                corpora[name] = Job(f"prepared/{name}", partial(self._preparation, cell.row))
                jobs.append(corpora[name])
            commands, finish = partial(self._commands, cell), partial(self._remove_state, cell)
            jobs.append(Job(cell.name, commands, corpora.get(name), finish))
        return jobs

    def _is_done(self, cell: Cell) -> bool:
        try:
            return self.state(cell) == "done"
        except (ValueError, OSError):  # an invalid recipe, which fails the job
            return False

    def _preparation(self, row: Row) -> list[Command]:
        """The command that prepares the corpus of a row, if it is not there with the same recipe."""
        recipe, output = self.recipe(row), self.prepared(row)
        try:
            manifest = read_json(output / MANIFEST)
            encoder = (manifest.get("encoder") or {}).get("source")
            same_encoder = encoder == (recipe.encoder and recipe.encoder.source)
            if same_encoder and not changes_since(manifest["recipe"], recipe.data):
                return []
        except (FileNotFoundError, ValueError, KeyError):  # no corpus, or one of another version
            pass
        if self.data is None and not recipe.data.task.generated:
            raise ValueError(f"{output}: no such corpus, and no --data to prepare it from")
        changes = [change for change in row.all_changes if change.startswith(("data.", "encoder"))]
        source = [] if self.data is None else ["--data", str(self.data)]
        where = [*source, "--output", str(output), "--workers", str(self.workers)]
        output.parent.mkdir(parents=True, exist_ok=True)
        return [command("prepare", self._recipe_path(row), *where, *_set_options(changes))]

    def _commands(self, cell: Cell) -> list[Command]:
        """The commands that train and evaluate a cell, without those that are done."""
        state, run, row = self.state(cell), self.run(cell), cell.row
        if state in ("done", "trained"):
            return self._evaluations(cell)
        if state == "missing":
            run.mkdir(parents=True, exist_ok=True)
            write_file(run / _COMMIT, f"{self.commit or ''}\n".encode())
        where = ["--data", str(self.prepared(row)), "--output", str(run), "--seed", str(cell.seed)]
        changes = _set_options(row.all_changes)
        training = command("train", self._recipe_path(row), *where, *changes, *self._device_option())
        return [training, *self._evaluations(cell)]

    def _evaluations(self, cell: Cell) -> list[Command]:
        """The commands that evaluate a trained cell, without those that are done."""
        run, row = self.run(cell), cell.row
        options = ["--data", str(self.prepared(row)), *self._device_option()]
        commands = [
            command("evaluate", run, "--split", split, *options)
            for split in row.splits
            if _split_scores(run, split) is None
        ]
        if row.attention and not attention_path(run, row.splits[0]).is_file():
            commands.append(command("analyse", "attention", run, "--split", row.splits[0], *options))
        return commands

    def _device_option(self) -> list[str]:
        return [] if self.device is None else ["--device", self.device]

    def _remove_state(self, cell: Cell) -> None:
        """Remove the checkpoints that only an unfinished training needs."""
        shutil.rmtree(self.run(cell) / "state", ignore_errors=True)


def _split_scores(run: Path, split: str) -> SplitScores | None:
    """The scores that ``treeformer evaluate`` saved for a finished run; None if there are none."""
    path = predictions_path(run, split).with_suffix(".scores.json")
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    facts = content.get("run")
    if not isinstance(facts, dict):
        raise ValueError(f"{path}: run: expected the facts of a run")
    if not facts.get("finished"):
        return None
    try:
        scores = {name: content[name] for name in SplitScores.model_fields if name in content}
        return SplitScores.model_validate(scores)
    except ValidationError as error:
        raise ValueError(f"{path}: {first_problem(error)}") from error


def attention_path(run: Path, split: str) -> Path:
    """The file that ``treeformer analyse attention`` saves."""
    return run / "analysis" / f"attention.{split}.json"


def source_commit() -> str | None:
    """The commit of this source, followed by ``+`` if there are changes; None outside a clone."""
    source = Path(treeformer.__file__).parents[1]
    if not (source / ".git").exists():  # installed, perhaps inside the clone of another project
        return None
    git = ["git", "-C", str(source)]
    try:
        commit, changes = (
            subprocess.run([*git, *arguments], capture_output=True, text=True, check=True).stdout.strip()
            for arguments in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changes else commit


def _set_options(changes: Sequence[str]) -> list[str]:
    return [part for change in changes for part in ("--set", change)]
