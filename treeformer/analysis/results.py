"""What an experiment found, as one object that needs nothing else: ``results/NAME.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from treeformer.analysis.cells import Cell, Row
from treeformer.analysis.experiments import Experiment
from treeformer.analysis.numbers import Found
from treeformer.analysis.runner import Job
from treeformer.analysis.work import Work, scores_of
from treeformer.evaluation.predictions import predictions_path
from treeformer.evaluation.significance import compare
from treeformer.storage import write_file
from treeformer.training.recipe import Recipe
from treeformer.training.runs import changes_since

_FACTS = (
    *("seed", "parameters", "updates", "metric", "best", "best_step", "averaged"),
    *("seconds", "peak_memory", "device", "versions", "commit", "corpus"),
)
_SCORES = ("scores", "by_group", "examples", "decoding", "seconds")


def collected(
    experiment: Experiment, work: Work, *, quick: bool, jobs: Sequence[Job] = (), before: Found | None = None
) -> Found:
    """All that is known about an experiment.

    Args:
        experiment: which rows and seeds.
        work: where its runs are.
        quick: whether this is the small version.
        jobs: what was just run; says why a cell failed.
        before: what an earlier collection found: runs of the same recipe that are not in ``work`` are kept.
    """
    reasons = {job.name: job.reason for job in jobs if job.state == "failed"}
    rows = [_row(row, work, reasons, row_of(before, row)) for row in experiment.rows]
    found: Found = {
        "name": experiment.name,
        "title": experiment.title,
        "quick": quick,
        "notes": list(experiment.notes),
        "rows": rows,
    }
    found["comparisons"] = _comparisons(experiment.rows, work, rows, before)
    return found


def _row(row: Row, work: Work, reasons: Mapping[str, str], earlier: Found | None) -> Found:
    """A row with its runs and what is missing of it."""
    found: Found = {
        "task": row.task,
        "label": row.label,
        "system": row.system,
        "slug": row.slug,
        "changes": list(row.changes),
        "rival": row.rival,
        "seeds": list(row.seeds),
        "recipe": None,
        "runs": [],
        "missing": [],
    }
    for cell in row.cells:
        try:
            recipe = found["recipe"] = work.recipe(cell).model_dump(mode="json")
            state = work.state(cell)
        except (ValueError, OSError) as error:
            found["missing"].append({"seed": cell.seed, "state": "failed", "reason": str(error)})
            continue
        if state == "done":
            found["runs"].append(_run(cell, work))
        elif cell.seed in (kept := _kept(earlier, recipe)):
            found["runs"].append(kept[cell.seed])
        else:
            reason = reasons.get(cell.name, "")
            state = "failed" if reason else state
            found["missing"].append({"seed": cell.seed, "state": state, "reason": reason})
    more = [run for seed, run in _kept(earlier, found["recipe"]).items() if seed not in row.seeds]
    found["runs"] += more
    found["seeds"] += [run["seed"] for run in more]
    return found


def _run(cell: Cell, work: Work) -> Found:
    """A run: how it was trained, and its scores."""
    folder, facts = work.run(cell), work.facts(cell)
    found = {name: facts.get(name) for name in _FACTS}
    found["tests"] = {
        split: {key: value for key, value in scores_of(folder, split).items() if key in _SCORES}
        for split in cell.row.splits
    }
    if cell.row.attention:
        path = work.attention(cell, cell.row.splits[0])
        found["attention"] = json.loads(path.read_text(encoding="utf-8"))
    return found


def row_of(before: Found | None, row: Row) -> Found | None:
    """What is known of a row, None if there is nothing."""
    rows = before["rows"] if before else []
    return next((old for old in rows if (old["task"], old["slug"]) == (row.task, row.slug)), None)


def _kept(earlier: Found | None, recipe: Found | None) -> dict[int, Found]:
    """The runs of this recipe that an earlier collection found, by seed."""
    if recipe is None or earlier is None or earlier["recipe"] is None:
        return {}
    try:
        changed = changes_since(earlier["recipe"], Recipe.model_validate(recipe))
    except ValueError:  # of another version
        return {}
    return {} if changed else {run["seed"]: run for run in earlier["runs"]}


def _comparisons(
    rows: Sequence[Row], work: Work, found: Sequence[Found], before: Found | None
) -> list[Found]:
    """Each row against its rival, on the first split, by the seeds that both have."""
    compared = []
    for row, own in zip(rows, found, strict=True):
        pair = [
            (other, also)
            for other, also in zip(rows, found, strict=True)
            if (other.task, other.label) == (row.task, row.rival) and other is not row
        ]
        if not pair:
            continue
        rival, also = pair[0]
        seeds = [seed for seed in row.seeds if seed in rival.seeds and _has(own, seed) and _has(also, seed)]
        entry: Found = {"task": row.task, "label": row.label, "rival": rival.label, "split": row.splits[0]}
        folders = [[work.run(Cell(one, seed)) for seed in seeds] for one in (rival, row)]
        there = all(predictions_path(run, row.splits[0]).is_file() for runs in folders for run in runs)
        if seeds and there:
            metric, result = list(compare(folders[0], folders[1], row.splits[0]).items())[-1]
            entry |= {"metric": metric, **result._asdict(), "difference": result.difference}
            compared.append({**entry, "seeds": seeds})
        elif seeds:
            compared += [old for old in (before or {}).get("comparisons", []) if entry.items() <= old.items()]
    return compared


def _has(row: Found, seed: int) -> bool:
    return any(run["seed"] == seed for run in row["runs"])


def load_found(path: Path) -> Found | None:
    """What an earlier run wrote, with what ``NAME.remarks.md`` says about it; None if there is nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict) or "title" not in found:
        raise ValueError(f"{path}: not written by treeformer reproduce; name another --results")
    remarks = path.with_suffix(".remarks.md")
    found["remarks"] = remarks.read_text(encoding="utf-8").strip() if remarks.is_file() else ""
    return found


def save_found(found: Found, path: Path) -> None:
    """Write it, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (json.dumps(found, ensure_ascii=False, indent=1) + "\n").encode())
