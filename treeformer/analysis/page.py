"""``docs/results.md``: the pages of all experiments, and the runs that are missing."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from treeformer.analysis.experiments import NAMES, experiment, task_name
from treeformer.analysis.results import Results, load_results
from treeformer.analysis.rows import Row
from treeformer.analysis.tables import markdown, markdown_table, named_seeds
from treeformer.storage import write_file

_HEAD = """\
# Results

Tables and figures of the paper, reproduced. `treeformer reproduce page` writes this page from the JSON files
in `results/`; only the remarks are written by hand. [reproduction.md](reproduction.md) explains how to run
the experiments. Scores are mean ± standard deviation over seeds. All choices were made on dev or on folds of
the training set. Minutes are for one training on the device named below the table, which other trainings may
have shared."""
_NOT_RUN = """\
## Not run

These trainings have no result. Seeds are named where other seeds of the row were run. Minutes are estimates
for trainings one after another on one GPU: the mean time of the system on the task, or else the time of the
slowest system on the task or on a similar one."""


def write_page(folder: Path, path: Path) -> None:
    """Write ``docs/results.md`` from all results in a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, page(folder, pictures=os.path.relpath(folder, path.parent)).encode())


def page(folder: Path, *, pictures: str = "../results") -> str:
    """All results as one Markdown page.

    Args:
        folder: the folder of ``NAME.json``.
        pictures: this folder, relative to the page.
    """
    parts, known = [_HEAD], {}
    for name in NAMES:
        results = load_results(folder / f"{name}.json")
        if results is None:
            continue
        known[name] = results
        lines = markdown(results, with_missing=False).strip().splitlines()
        parts.append("\n".join(f"#{line}" if line.startswith("#") else line for line in lines))
        if (folder / f"{name}.svg").is_file():
            parts.append(f"![{results.title}]({pictures}/{name}.svg)")
    return "\n\n".join([*parts, *_not_run(known)]) + "\n"


def _not_run(known: Mapping[str, Results]) -> list[str]:
    """A table of the runs without results: one row for each task of an experiment."""
    times = _training_minutes(known.values())
    lines = [["table", "task", "not run", "trainings", "minutes", "command"]]
    for name in NAMES:
        command = f"treeformer reproduce {name} --data DATA"
        rows = experiment(name).rows
        if not rows and name not in known:
            lines.append([name, "", "all", "", "1–10", f"`{command}`"])
        missing: dict[str, list[tuple[Row, list[int]]]] = {}
        for row in rows:
            result = known[name].row(row.task, row.slug) if name in known else None
            seeds = [seed for seed in row.seeds if result is None or seed not in result.seeds_run]
            if seeds:
                missing.setdefault(row.task, []).append((row, seeds))
        for task, gaps in missing.items():
            labels = [
                row.label if len(seeds) == len(row.seeds) else f"{row.label} ({named_seeds(seeds)})"
                for row, seeds in gaps
            ]
            count = sum(len(seeds) for _, seeds in gaps)
            estimate = _estimate(gaps, times)
            only = f"`{command} --only {task}`"
            lines.append([name, task_name(task), "; ".join(labels), str(count), estimate, only])
    return [_NOT_RUN, markdown_table(lines)] if len(lines) > 1 else []


def _training_minutes(all_results: Iterable[Results]) -> dict[tuple[str, str], float]:
    """Mean minutes of a training on a GPU, by task and system."""
    times: dict[tuple[str, str], list[float]] = {}
    for row in (row for results in all_results for row in results.rows):
        minutes = [run.seconds / 60 for run in row.runs if run.seconds and run.device.startswith("cuda")]
        if minutes:
            times.setdefault((row.task, row.system), []).append(statistics.mean(minutes))
    return {key: statistics.mean(minutes) for key, minutes in times.items()}


def _estimate(missing: Sequence[tuple[Row, list[int]]], times: Mapping[tuple[str, str], float]) -> str:
    """Estimated minutes of missing trainings, one after another."""
    total = 0.0
    for row, seeds in missing:
        family = row.task.rpartition("-")[0].rpartition("-")[0]  # multi30k of multi30k-en-de
        same_task = [minutes for (task, _), minutes in times.items() if task == row.task]
        similar = [minutes for (task, _), minutes in times.items() if family and task.startswith(family)]
        if (row.task, row.system) in times:
            total += times[row.task, row.system] * len(seeds)
        elif same_task or similar:
            total += max(same_task or similar) * len(seeds)
        else:
            return "not known"
    return f"about {total:.0f}"
