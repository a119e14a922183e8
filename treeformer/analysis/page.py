"""``docs/results.md``: every table that was made, and what was not run, with its command and an estimate."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from treeformer.analysis.cells import Row
from treeformer.analysis.experiments import NAMES, experiment
from treeformer.analysis.numbers import Found, markdown_table, minutes
from treeformer.analysis.paper import TASKS
from treeformer.analysis.results import load_found
from treeformer.analysis.tables import markdown
from treeformer.storage import write_file

_HEAD = """\
# Results

The paper's tables and figures, made by `treeformer reproduce page` from the JSON files in `results/`; nothing
here is typed by hand. [reproduction.md](reproduction.md) says how to make them. Numbers are mean ± standard
deviation over seeds; every choice was made on dev. Minutes are of one training on the device named below the
table, which several trainings may have shared."""
_NOT_RUN = """\
## What was not run

Minutes are those that the same system took on the same task, or else those of the slowest system on that task
or one like it; several run at once on one GPU."""


def write_page(results: Path, path: Path) -> None:
    """Write the page from all results that are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, page(results, pictures=_relative(results, path)).encode())


def _relative(results: Path, path: Path) -> str:
    """The folder of results as seen from the page."""
    return os.path.relpath(results, path.parent)


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
    """The cells without a number."""
    taken = _minutes(list(there.values()))
    lines = [["table", "task", "system", "seeds", "command", "minutes a run"]]
    for name in NAMES:
        found = there.get(name)
        rows = experiment(name).rows
        if found is None and not rows:
            lines.append([name, "", "", "", f"`treeformer reproduce {name} --data DATA`", "1–10"])
        for row in rows:
            missing = _missing_seeds(row, found)
            if missing:
                command = f"`treeformer reproduce {name} --data DATA --only {row.slug}/{row.task}`"
                seeds = ", ".join(map(str, missing))
                lines.append(
                    [name, TASKS.get(row.task, row.task), row.label, seeds, command, _estimate(row, taken)]
                )
    return [_NOT_RUN, markdown_table(lines)] if len(lines) > 1 else []


def _missing_seeds(row: Row, found: Found | None) -> list[int]:
    """The seeds of a row that no results file has."""
    rows = found["rows"] if found else []
    runs = [run for old in rows if (old["task"], old["slug"]) == (row.task, row.slug) for run in old["runs"]]
    return [seed for seed in row.seeds if seed not in {run["seed"] for run in runs}]


def _minutes(all_found: list[Found]) -> dict[tuple[str, str], float]:
    """Minutes of a training by task and system, of those that were run."""
    times: dict[tuple[str, str], list[float]] = {}
    for found in all_found:
        for row in found["rows"]:
            taken = minutes(row)
            if taken is not None:
                times.setdefault((row["task"], row["system"]), []).append(taken)
    return {key: statistics.mean(own) for key, own in times.items()}


def _estimate(row: Row, taken: dict[tuple[str, str], float]) -> str:
    """Minutes that a run may take, from those that did run."""
    if (row.task, row.system) in taken:
        return f"{taken[row.task, row.system]:.1f}"
    near = [own for (task, _), own in taken.items() if task == row.task]
    if not near:
        kin = row.task.rpartition("-")[0].rpartition("-")[0]  # multi30k of multi30k-en-de
        near = [own for (task, _), own in taken.items() if kin and task.startswith(kin)]
    return f"about {max(near):.1f}" if near else "not known"
