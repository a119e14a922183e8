"""A table or figure of the paper, end to end: prepare, train, evaluate, compare, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeformer.analysis.cells import Cell
from treeformer.analysis.experiments import NAMES, Experiment, experiment
from treeformer.analysis.numbers import Found
from treeformer.analysis.parameters import count_parameters
from treeformer.analysis.plots import plot
from treeformer.analysis.results import collected, load_found, save_found
from treeformer.analysis.runner import Runner
from treeformer.analysis.speed import QUICK, Settings, measure_speed
from treeformer.analysis.tables import markdown
from treeformer.analysis.work import Work
from treeformer.machine import chosen_device
from treeformer.storage import write_file

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What of an experiment is wanted.

    quick: the small version.
    seeds: those to run; none for all of the experiment's own.
    changes: more changes to every recipe.
    only: ``SYSTEM``, ``TASK`` or ``SYSTEM/TASK``; the others are not run.
    """

    quick: bool = False
    seeds: Sequence[int] = ()
    changes: Sequence[str] = ()
    only: Sequence[str] = ()

    def experiment(self, name: str) -> Experiment:
        """The experiment as it is wanted."""
        found = experiment(name)
        if self.quick:
            found = found.quick()
        return found.with_seeds(self.seeds).changed(self.changes)

    def cells(self, wanted: Experiment) -> list[Cell]:
        """The cells to run."""
        cells = [cell for row in wanted.rows if row.matches(self.only) for cell in row.cells]
        return [cell for cell in cells if not self.seeds or cell.seed in self.seeds]

    def file(self, name: str) -> str:
        """What the files of results are called: the quick version never takes the place of the real one."""
        return f"quick-{name}" if self.quick else name


def chosen_names(name: str, wanted: Wanted) -> list[str]:
    """The experiment of a name, or of ``all`` of them those that have something that is wanted."""
    names = NAMES if name == "all" else (experiment(name).name,)
    rows = [row for one in names for row in wanted.experiment(one).rows]
    for pattern in wanted.only:
        if not any(row.matches((pattern,)) for row in rows):
            raise ValueError(f"--only {pattern}: expected tasks and systems of {name}, found none")
    return [one for one in names if not wanted.only or wanted.cells(wanted.experiment(one))]


def reproduce(name: str, wanted: Wanted, work: Work, runner: Runner, results: Path) -> bool:
    """Run what is missing of an experiment and write its results; whether all that was wanted is there."""
    chosen = wanted.experiment(name)
    if name in _MEASURED:
        about: Found = {"name": name, "title": chosen.title, "quick": wanted.quick, "notes": [], "rows": []}
        before = load_found(results / f"{wanted.file(name)}.json")
        measured = _MEASURED[name](wanted, work, runner.tell, before)
        about |= {"commit": work.commit, "measured": measured}
        write_results(about, results / wanted.file(name), runner.tell)
        return True
    cells = wanted.cells(chosen)
    if not cells and wanted.only:
        raise ValueError(f"--only {' '.join(wanted.only)}: expected tasks and systems of {name}, found none")
    jobs = work.jobs(cells)
    runner.run(jobs)
    before = load_found(results / f"{wanted.file(name)}.json")
    found = collected(chosen, work, quick=wanted.quick, jobs=jobs, before=before)
    write_results(found, results / wanted.file(name), runner.tell)
    return all(job.state == "done" for job in jobs)


def _speed(wanted: Wanted, work: Work, tell: Tell, before: Found | None) -> Found:
    """Times on this machine, beside those that were taken on others."""
    settings = QUICK if wanted.quick else Settings()
    own = measure_speed(settings, chosen_device(work.device).type, work.data, tell)
    earlier = before["measured"]["machines"] if before else []
    others = [other for other in earlier if other["device"] != own["device"]]
    return {"machines": sorted([*others, own], key=lambda one: str(one["device"]))}


def _parameters(wanted: Wanted, work: Work, tell: Tell, before: Found | None) -> Found:
    return count_parameters(work.recipes, work.folder / "prepared")


_MEASURED: dict[str, Callable[[Wanted, Work, Tell, Found | None], Found]] = {
    "speed": _speed,
    "parameters": _parameters,
}


def write_results(found: Found, path: Path, tell: Tell) -> None:
    """Write ``path`` with ``.json``, and from it ``.md`` and ``.svg``."""
    save_found(found, path.with_name(f"{path.name}.json"))
    remake(path, tell)


def remake(path: Path, tell: Tell) -> None:
    """Make ``.md`` and ``.svg`` of the JSON file beside them; without matplotlib just the first."""
    found = load_found(path.with_name(f"{path.name}.json"))
    if found is None:
        raise ValueError(f"{path}.json: no such results")
    write_file(path.with_name(f"{path.name}.md"), markdown(found).encode())
    written = f"{path}.json, {path.name}.md"
    try:
        plot(found, path.with_name(f"{path.name}.svg"))
        written += f", {path.name}.svg"
    except ImportError as error:
        tell(str(error))
    tell(f"written: {written}")


def listing(name: str, wanted: Wanted, work: Work) -> list[str]:
    """The cells of an experiment, and which are done."""
    lines = []
    for cell in wanted.cells(wanted.experiment(name)):
        try:
            state = work.state(cell)
        except (ValueError, OSError) as error:
            state = f"impossible: {error}"
        lines.append(f"{state:<12}  {cell.name}")
    return lines
