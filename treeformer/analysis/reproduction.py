"""A table or figure of the paper, end to end: prepare, train, evaluate, compare, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treeformer.analysis.costs import QUICK, Settings, count_parameters, measure_speed
from treeformer.analysis.experiments import NAMES, QUICK_TASKS, experiment, quick_row
from treeformer.analysis.page import write_page
from treeformer.analysis.plots import plot
from treeformer.analysis.results import (
    MissingRun,
    Parameters,
    ResultRow,
    Results,
    RowComparison,
    RunResult,
    Speed,
    load_results,
)
from treeformer.analysis.rows import Cell, Experiment, Row
from treeformer.analysis.runner import Runner
from treeformer.analysis.tables import markdown
from treeformer.analysis.workspace import Workspace
from treeformer.evaluation.predictions import PHRASES, predictions_path
from treeformer.evaluation.significance import compare
from treeformer.machine import chosen_device
from treeformer.progress import Progress
from treeformer.storage import write_file
from treeformer.training.recipe import Recipe
from treeformer.training.runs import changes_since


@dataclass(frozen=True)
class Selection:
    """The part of the experiments to run.

    quick: run the small version: fewer updates, one seed, a share of the data.
    seeds: the seeds to run; empty for all seeds of the experiment.
    changes: further changes to every recipe.
    only: patterns ``SYSTEM``, ``TASK`` or ``SYSTEM/TASK``; other rows are not run.
    """

    quick: bool = False
    seeds: Sequence[int] = ()
    changes: Sequence[str] = ()
    only: Sequence[str] = ()

    def experiment(self, name: str) -> Experiment:
        """The experiment with the selected seeds and changes, as quick version if selected."""
        chosen = experiment(name)
        rows = chosen.rows
        if self.quick:
            rows = tuple(quick_row(row) for row in rows if row.task in QUICK_TASKS[name])
        changed = [
            replace(
                row,
                changes=(*row.changes, *self.changes),
                seeds=tuple(sorted({*row.seeds, *self.seeds})),
            )
            for row in rows
        ]
        return replace(chosen, rows=tuple(changed))

    def cells(self, name: str) -> list[Cell]:
        """The cells of an experiment to run."""
        cells = [cell for row in self.experiment(name).rows if row.matches(self.only) for cell in row.cells]
        return [cell for cell in cells if not self.seeds or cell.seed in self.seeds]

    def names(self, name: str) -> list[str]:
        """The experiment of this name, or of ``all`` those with something to run.

        A pattern in ``only`` that matches nothing is an error.
        """
        names = NAMES if name == "all" else (experiment(name).name,)
        rows = [row for one in names for row in self.experiment(one).rows]
        for pattern in self.only:
            if not any(row.matches([pattern]) for row in rows):
                raise ValueError(f"--only {pattern}: expected tasks and systems of {name}, found none")
        return [one for one in names if not self.only or self.cells(one)]

    def file_name(self, name: str) -> str:
        """Name of the JSON file; the quick version never replaces the full one."""
        return f"quick-{name}.json" if self.quick else f"{name}.json"


def reproduce(name: str, selection: Selection, workspace: Workspace, runner: Runner, folder: Path) -> bool:
    """Run the missing cells of an experiment and write its results; True if all selected cells are done."""
    selection.names(name)  # checks --only
    chosen, path = selection.experiment(name), folder / selection.file_name(name)
    jobs = workspace.jobs(selection.cells(name))
    runner.run(jobs)
    before = load_results(path)
    if name in ("speed", "parameters"):
        measured = _measure(name, selection, workspace, runner.progress, before)
        results = Results(
            name=name,
            title=chosen.title,
            quick=selection.quick,
            notes=[],
            rows=[],
            commit=workspace.commit,
            measured=measured,
        )
    else:
        reasons = {job.name: job.reason for job in jobs if job.state == "failed"}
        others = [load_results(folder / selection.file_name(other)) for other in NAMES if other != name]
        known = [results for results in others if results is not None]
        results = collect(chosen, workspace, reasons, before, known, quick=selection.quick)
    results.save(path)
    remake(path, runner.progress)
    return all(job.state == "done" for job in jobs)


def remake(path: Path, progress: Progress) -> None:
    """Write the Markdown page and the SVG plot of a JSON file; without matplotlib only the page."""
    results = load_results(path)
    if results is None:
        raise ValueError(f"{path}: no such results")
    written = f"{path}, {path.stem}.md"
    try:
        plot(results, path.with_suffix(".svg"))
        written += f", {path.stem}.svg"
    except ImportError as error:
        progress.log(str(error))
    write_file(path.with_suffix(".md"), own_page(results, path).encode())
    progress.log(f"written: {written}")


def own_page(results: Results, path: Path) -> str:
    """The Markdown page beside a JSON file, with the plot if there is one."""
    picture = path.with_suffix(".svg")
    return markdown(results, picture=picture.name if picture.is_file() else "")


def rewrite_pages(folder: Path, page: Path, progress: Progress) -> None:
    """Write the pages and plots of all results in a folder again, and the page of all of them."""
    for name in NAMES:
        path = folder / f"{name}.json"
        if path.is_file():
            remake(path, progress)
    write_page(folder, page)


def listing(name: str, selection: Selection, workspace: Workspace) -> list[str]:
    """The selected cells of an experiment, each with its state."""
    lines = []
    for cell in selection.cells(name):
        try:
            state = workspace.state(cell)
        except (ValueError, OSError) as error:
            state = f"impossible: {error}"
        lines.append(f"{state:<12}  {cell.name}")
    return lines


def _measure(
    name: str, selection: Selection, workspace: Workspace, progress: Progress, before: Results | None
) -> Speed | Parameters:
    """Count parameters, or measure speed here and keep earlier results of other machines."""
    if name == "parameters":
        return count_parameters(workspace.recipes, workspace.folder / "prepared")
    settings = QUICK if selection.quick else Settings()
    here = measure_speed(settings, chosen_device(workspace.device).type, workspace.data, progress)
    earlier = before.measured.machines if before and isinstance(before.measured, Speed) else []
    others = [machine for machine in earlier if machine.device != here.device]
    return Speed(machines=sorted([*others, here], key=lambda machine: machine.device))


def collect(
    chosen: Experiment,
    workspace: Workspace,
    reasons: Mapping[str, str],
    before: Results | None,
    others: Sequence[Results] = (),
    *,
    quick: bool,
) -> Results:
    """Collect the results of an experiment.

    Args:
        chosen: the experiment, with its rows and seeds.
        workspace: the place of its runs.
        reasons: why cells failed, by name.
        before: earlier results; their runs of the same recipe are kept if they are not in the workspace.
        others: results of other experiments; their runs of the same recipe are used where there is no other.
        quick: whether this is the quick version.
    """
    rows = []
    for row in chosen.rows:
        earlier = before.row(row.task, row.slug) if before else None
        elsewhere = [found for found in (one.row(row.task, row.slug) for one in others) if found]
        rows.append(_result_row(row, workspace, reasons, earlier, elsewhere))
    return Results(
        name=chosen.name,
        title=chosen.title,
        quick=quick,
        notes=list(chosen.notes),
        rows=rows,
        comparisons=_comparisons(chosen.rows, rows, workspace, before),
    )


def _result_row(
    row: Row,
    workspace: Workspace,
    reasons: Mapping[str, str],
    earlier: ResultRow | None,
    elsewhere: Sequence[ResultRow],
) -> ResultRow:
    """A row with its runs and its missing seeds."""
    result = ResultRow(
        task=row.task,
        label=row.label,
        system=row.system,
        slug=row.slug,
        changes=list(row.changes),
        rival=row.rival,
        seeds=list(row.seeds),
        recipe=None,
        runs=[],
        missing=[],
    )
    kept: dict[int, RunResult] = {}
    for cell in row.cells:
        try:
            recipe = workspace.recipe(row)
            state = workspace.state(cell)
        except (ValueError, OSError) as error:
            result.missing.append(MissingRun(seed=cell.seed, state="failed", reason=str(error)))
            continue
        result.recipe = recipe.model_dump(mode="json")
        kept, shared = _kept_runs(earlier, recipe), _shared_runs(row, recipe, elsewhere)
        if state == "done":
            result.runs.append(workspace.result(cell))
        elif cell.seed in kept:
            result.runs.append(kept[cell.seed])
        elif cell.seed in shared:
            result.runs.append(shared[cell.seed])
        else:
            reason = reasons.get(cell.name, "")
            missing = MissingRun(seed=cell.seed, state="failed" if reason else state, reason=reason)
            result.missing.append(missing)
    further = [run for seed, run in kept.items() if seed not in row.seeds]
    result.runs += further
    result.seeds += [run.seed for run in further]
    return result


def _kept_runs(earlier: ResultRow | None, recipe: Recipe) -> dict[int, RunResult]:
    """Runs of earlier results by seed, if they have the same recipe."""
    if earlier is None or earlier.recipe is None:
        return {}
    try:
        changes = changes_since(earlier.recipe, recipe)
    except ValueError:  # a recipe of another version
        return {}
    return {} if changes else {run.seed: run for run in earlier.runs}


def _shared_runs(row: Row, recipe: Recipe, elsewhere: Sequence[ResultRow]) -> dict[int, RunResult]:
    """Runs of other experiments by seed, if they have the recipe and all scores of a row; no other scores."""
    shared: dict[int, RunResult] = {}
    for found in elsewhere:
        for seed, run in _kept_runs(found, recipe).items():
            is_complete = set(row.splits) <= set(run.tests) and (
                run.attention is not None or not row.attention
            )
            if is_complete and seed not in shared:
                facts = run.model_dump(exclude_unset=True, exclude=set() if row.attention else {"attention"})
                facts["tests"] = {split: run.tests[split] for split in row.splits}
                shared[seed] = RunResult.model_validate(facts)
    return shared


def _comparisons(
    rows: Sequence[Row], results: Sequence[ResultRow], workspace: Workspace, before: Results | None
) -> list[RowComparison]:
    """Compare each row with its rivals, by the seeds that both have.

    An earlier comparison is kept if both rows are as before, or if predictions are not in the workspace.
    """
    by_label = {(row.task, row.label): (row, result) for row, result in zip(rows, results, strict=True)}
    earlier: dict[tuple[str, ...], list[RowComparison]] = {}
    for one in before.comparisons if before else ():
        earlier.setdefault((one.task, one.label, one.rival, one.split), []).append(one)
    comparisons = []
    pairs = [
        (*pair, label) for pair in by_label.values() for label in (pair[0].rival, *pair[0].further_rivals)
    ]
    for row, result, rival_label in pairs:
        rival, rival_result = by_label.get((row.task, rival_label), (row, result))
        both = result.seeds_run & rival_result.seeds_run
        seeds = [seed for seed in row.seeds if seed in both]
        if rival is row or not seeds:
            continue
        unchanged = before is not None and result in before.rows and rival_result in before.rows
        metrics = {result.metric}
        if result.phrases_taught and rival_result.phrases_taught:
            metrics.add(PHRASES)
        folders, rival_folders = ([workspace.run(Cell(one, seed)) for seed in seeds] for one in (row, rival))
        for split in row.compared:
            known = earlier.get((row.task, row.label, rival.label, split), [])
            is_there = all(predictions_path(run, split).is_file() for run in folders + rival_folders)
            if is_there and not (known and unchanged):
                known = [
                    RowComparison(
                        task=row.task,
                        label=row.label,
                        rival=rival.label,
                        split=split,
                        metric=metric,
                        **compared._asdict(),
                        difference=compared.difference,
                        seeds=seeds,
                    )
                    for metric, compared in compare(rival_folders, folders, split).items()
                    if metric in metrics
                ]
            comparisons += known
    return comparisons
