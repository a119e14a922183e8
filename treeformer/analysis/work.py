"""The folder of a reproduction: prepared corpora, runs and logs, and what is still missing in them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import treeformer
from treeformer.analysis.cells import Cell, Row
from treeformer.analysis.runner import Command, Job
from treeformer.analysis.runner import treeformer as command
from treeformer.data.corpus import MANIFEST
from treeformer.evaluation.predictions import predictions_path
from treeformer.inference.loading import run_facts
from treeformer.storage import write_file
from treeformer.training.recipe import Recipe
from treeformer.training.runs import changes_since

ATTENTION = "attention"
_COMMIT = ".commit"


class Work:
    """Where everything is made.

    Args:
        folder: with ``prepared/``, ``runs/`` and ``logs/``.
        recipes: folder of the recipes.
        data: the data that corpora are prepared from; not needed when they are there.
        device: of training and evaluation; None for the default.
        workers: processes that parse at the same time.
        commit: which source this is; None to ask git.
    """

    def __init__(
        self,
        folder: Path,
        recipes: Path,
        *,
        data: Path | None = None,
        device: str | None = None,
        workers: int = 1,
        commit: str | None = None,
    ) -> None:
        self.folder = folder
        self.recipes = recipes
        self.data = data
        self.workers = workers
        self.commit = commit or source_commit()
        self.device = device
        self._device = [] if device is None else ["--device", device]

    def run(self, cell: Cell) -> Path:
        """The run folder of a cell."""
        return self.folder / "runs" / cell.name

    def prepared(self, row: Row) -> Path:
        """The prepared corpus of a row."""
        return self.folder / "prepared" / row.corpus

    def attention(self, cell: Cell, split: str) -> Path:
        """The attention shares of a cell."""
        return attention_path(self.run(cell), split)

    def recipe(self, cell: Cell) -> Recipe:
        """The recipe of a cell as it is trained."""
        return Recipe.load(self._recipe_path(cell.row), cell.changes).resolved()

    def _recipe_path(self, row: Row) -> Path:
        return self.recipes / f"{row.task}.yaml"

    def state(self, cell: Cell) -> str:
        """``done``, ``trained``, ``begun`` or ``missing``; ``other recipe`` if the run is of another one."""
        facts = run_facts(self.run(cell))
        if not facts:
            return "missing"
        if changes_since(facts["recipe"], self.recipe(cell)):
            return "other recipe"
        if not facts["finished"]:
            return "begun"
        return "trained" if self._unanswered(cell) else "done"

    def _unanswered(self, cell: Cell) -> list[Command]:
        """The commands that evaluate a trained cell and were not run."""
        run, data = self.run(cell), ["--data", str(self.prepared(cell.row))]
        commands = [
            command("evaluate", run, "--split", split, *data, *self._device)
            for split in cell.row.splits
            if not scores_of(run, split)
        ]
        if cell.row.attention and not self.attention(cell, cell.row.splits[0]).is_file():
            split = ["--split", cell.row.splits[0]]
            commands.append(command("analyse", ATTENTION, run, *split, *data, *self._device))
        return commands

    def jobs(self, cells: Sequence[Cell]) -> list[Job]:
        """What there is to do for these cells, each corpus before the first cell that needs it."""
        corpora: dict[str, Job] = {}
        jobs = []
        for cell in cells:
            name = cell.row.corpus
            if name not in corpora and self._needs_corpus(cell):
                corpora[name] = Job(f"prepared/{name}", lambda cell=cell: self._preparing(cell))  # type: ignore[misc]
                jobs.append(corpora[name])
            jobs.append(
                Job(
                    cell.name,
                    lambda cell=cell: self._commands(cell),  # type: ignore[misc]
                    corpora.get(name),
                    lambda cell=cell: self._tidy(cell),  # type: ignore[misc]
                )
            )
        return jobs

    def _needs_corpus(self, cell: Cell) -> bool:
        try:
            return self.state(cell) != "done"
        except (ValueError, OSError):  # its recipe is wrong, which its job will tell
            return False

    def _preparing(self, cell: Cell) -> list[Command]:
        """The command that prepares a cell's corpus, nothing if it is there."""
        output = self.prepared(cell.row)
        if self._is_prepared(cell):
            return []
        if self.data is None:
            raise ValueError(f"{output}: no such corpus, and no --data to prepare it from")
        changes = [change for change in cell.changes if change.startswith("data.")]
        where = ["--data", str(self.data), "--output", str(output), "--workers", str(self.workers)]
        output.parent.mkdir(parents=True, exist_ok=True)
        return [command("prepare", self._recipe_path(cell.row), *where, *_sets(changes))]

    def _is_prepared(self, cell: Cell) -> bool:
        """Whether the corpus is there and of the same recipe."""
        path = self.prepared(cell.row) / MANIFEST
        try:
            made_for = json.loads(path.read_text(encoding="utf-8"))["recipe"]
            return not changes_since(made_for, self.recipe(cell).data)
        except (FileNotFoundError, ValueError, KeyError):  # none, or of another version
            return False

    def _commands(self, cell: Cell) -> list[Command]:
        """What is missing of a cell."""
        state = self.state(cell)
        if state == "done":
            return []
        if state == "trained":
            return self._unanswered(cell)
        run = self.run(cell)
        if state == "missing":
            run.mkdir(parents=True, exist_ok=True)
            write_file(run / _COMMIT, f"{self.commit or ''}\n".encode())
        where = ["--data", str(self.prepared(cell.row)), "--output", str(run), "--seed", str(cell.seed)]
        training = command("train", self._recipe_path(cell.row), *where, *_sets(cell.changes), *self._device)
        return [training, *self._unanswered(cell)]

    def _tidy(self, cell: Cell) -> None:
        """Remove what only an unfinished training needs."""
        shutil.rmtree(self.run(cell) / "state", ignore_errors=True)

    def facts(self, cell: Cell) -> dict[str, Any]:
        """What ``run.json`` says, and from which source the run is."""
        run = self.run(cell)
        commit = run / _COMMIT
        text = commit.read_text(encoding="utf-8").strip() if commit.is_file() else ""
        return {**run_facts(run), "commit": text or None}


def scores_of(run: Path, split: str) -> dict[str, Any]:
    """What ``treeformer evaluate`` found for a finished run; nothing if it was not asked."""
    path = predictions_path(run, split).with_suffix(".scores.json")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return dict(found) if found["run"].get("finished") else {}


def attention_path(run: Path, split: str) -> Path:
    """Where ``treeformer analyse attention`` leaves what it found."""
    return run / "analysis" / f"{ATTENTION}.{split}.json"


def source_commit() -> str | None:
    """The commit of this source, with ``+`` if it has changes; None without git."""
    folder = Path(treeformer.__file__).parents[1]
    try:
        commit, changed = (
            subprocess.run(
                ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
            ).stdout.strip()
            for arguments in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit


def _sets(changes: Sequence[str]) -> list[str]:
    return [part for change in changes for part in ("--set", change)]
