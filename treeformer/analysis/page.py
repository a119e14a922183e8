"""``docs/results.md``: every table that was made, and what was not run, with its command and an estimate."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from treeformer.analysis.cells import Row
from treeformer.analysis.experiments import NAMES, experiment
from treeformer.analysis.numbers import Found, markdown_table, minutes, named_seeds
from treeformer.analysis.paper import task_name
from treeformer.analysis.results import load_found, row_of
from treeformer.analysis.tables import markdown
from treeformer.storage import write_file

_HEAD = """\
# Results

The paper's tables and figures, made by `treeformer reproduce page` from the JSON files in `results/`; numbers
in tables are not typed by hand, remarks are. [reproduction.md](reproduction.md) says how to make them.
Numbers are mean ± standard deviation over seeds; choices were made on dev or on folds of the training
part. Minutes are of one training on the device named below the table, which several trainings may have
shared."""
_NOT_RUN = """\
## What was not run

Seeds are named where some of a system's were run. Minutes are for one training after another on a GPU, from
those that the same system took on the same task, or else from the slowest system on that task or one like it;
several run at once."""


def write_page(results: Path, path: Path) -> None:
    """Write the page from all results that are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, page(results, pictures=os.path.relpath(results, path.parent)).encode())


def page(results: Path, *, pictures: str = "../results") -> str:
    """The page as Markdown.

    Args:
        results: the folder of ``NAME.json``.
        pictures: the same folder, as the page names it.
    """
    there = {name: found for name in NAMES if (found := load_found(results / f"{name}.json")) is not None}
    parts = [_HEAD]
    for name, found in there.items():
        text = markdown({**found, "rows": [{**row, "missing": []} for row in found["rows"]]})
        parts.append(
            "\n".join(f"#{line}" if line.startswith("#") else line for line in text.strip().splitlines())
        )
        if (results / f"{name}.svg").is_file():
            parts.append(f"![{found['title']}]({pictures}/{name}.svg)")
    parts += _not_run(there)
    return "\n\n".join(parts) + "\n"


def _not_run(there: dict[str, Found]) -> list[str]:
    """What has no number: a line for each task of a table."""
    taken = _minutes(list(there.values()))
    lines = [["table", "task", "not run", "trainings", "minutes", "command"]]
    for name in NAMES:
        rows = experiment(name).rows
        if name not in there and not rows:
            lines.append([name, "", "all", "", "1–10", f"`treeformer reproduce {name} --data DATA`"])
        for task in dict.fromkeys(row.task for row in rows):
            missing = [
                (row, seeds)
                for row in rows
                if row.task == task and (seeds := _missing_seeds(row, there.get(name)))
            ]
            if missing:
                command = f"`treeformer reproduce {name} --data DATA --only {task}`"
                what = "; ".join(_named(row, seeds) for row, seeds in missing)
                count = sum(len(seeds) for _, seeds in missing)
                lines.append([name, task_name(task), what, str(count), _estimate(missing, taken), command])
    return [_NOT_RUN, markdown_table(lines)] if len(lines) > 1 else []


def _named(row: Row, seeds: list[int]) -> str:
    """A line of a table, with its seeds if others of them were run."""
    if len(seeds) == len(row.seeds):
        return row.label
    return f"{row.label} ({named_seeds(seeds)})"


def _missing_seeds(row: Row, found: Found | None) -> list[int]:
    """The seeds of a row that no results file has."""
    known = row_of(found, row)
    there = {run["seed"] for run in known["runs"]} if known else set()
    return [seed for seed in row.seeds if seed not in there]


def _minutes(all_found: list[Found]) -> dict[tuple[str, str], float]:
    """Minutes of a training on a GPU by task and system, of those that were run."""
    times: dict[tuple[str, str], list[float]] = {}
    for found in all_found:
        for row in found["rows"]:
            fast = [run for run in row["runs"] if run["device"].startswith("cuda")]
            taken = minutes(fast)
            if taken is not None:
                times.setdefault((row["task"], row["system"]), []).append(taken)
    return {key: statistics.mean(own) for key, own in times.items()}


def _estimate(missing: list[tuple[Row, list[int]]], taken: dict[tuple[str, str], float]) -> str:
    """Minutes that all of these may take, one after another; from those that did run."""
    each = [(_minutes_of(row, taken), len(seeds)) for row, seeds in missing]
    if any(own is None for own, _ in each):
        return "not known"
    return f"about {sum((own or 0) * count for own, count in each):.0f}"


def _minutes_of(row: Row, taken: dict[tuple[str, str], float]) -> float | None:
    if (row.task, row.system) in taken:
        return taken[row.task, row.system]
    near = [own for (task, _), own in taken.items() if task == row.task]
    if not near:
        kin = row.task.rpartition("-")[0].rpartition("-")[0]  # multi30k of multi30k-en-de
        near = [own for (task, _), own in taken.items() if kin and task.startswith(kin)]
    return max(near, default=None)
