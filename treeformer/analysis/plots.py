"""What an experiment found as a picture; matplotlib is an extra."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treeformer.analysis import measured_plots
from treeformer.analysis.numbers import Found, digits_of, headline, values
from treeformer.analysis.paper import NEAREST, papers_score, task_name
from treeformer.analysis.tables import tasks_of


def plot(found: Found, path: Path) -> None:
    """Draw it as SVG, made of what ``results/NAME.json`` holds and nothing else."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"{path}: a plot needs matplotlib: pip install 'treeformer[plot]'") from error
    mpl.rcParams["svg.hashsalt"] = "treeformer"  # the same picture is the same file
    draw = _DRAWN.get(found["name"], _points)
    figure = Figure(layout="constrained")
    draw(found, figure)
    title = f"{found['title']} (quick version)" if found["quick"] else found["title"]
    figure.suptitle(title, fontsize="medium")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _panels(figure: Any, count: int) -> list[Any]:
    """So many panels, three in a row at most, and four in a square."""
    columns = 2 if count == 4 else min(max(count, 1), 3)
    rows = -(-max(count, 1) // columns)
    figure.set_size_inches(4.2 * columns, 3.4 * rows)
    return list(figure.subplots(rows, columns, squeeze=False).flat)


def _points(found: Found, figure: Any) -> None:
    """A panel a task: our scores with their spread, beside the paper's where its task is the same."""
    for axes, (task, rows) in _spread_over(figure, tasks_of(found)):
        there = [row for row in rows if row["runs"]]
        papers = [
            None if task in NEAREST else papers_score(found["name"], task, row["label"]) for row in there
        ]
        for place, (row, paper) in enumerate(zip(there, papers, strict=True)):
            scores = values(row)
            mean, error = statistics.mean(scores), statistics.stdev(scores) if len(scores) > 1 else 0.0
            colour = measured_plots.colour_of(row["system"])
            axes.errorbar([place], [mean], yerr=[error], fmt="o", capsize=4, color=colour)
            shown = f" {mean:.{digits_of(row)}f}"
            axes.annotate(shown, (place, mean), textcoords="offset points", xytext=(4, 2), fontsize="x-small")
            if paper is not None:
                axes.plot([place], [paper], "D", color="black", fillstyle="none", markersize=5)
        axes.set_ylabel(headline(there[0]["runs"][0]))
        axes.set_xlim(-0.5, len(there) - 0.2)
        names = [row["label"] for row in there]
        axes.set_xticks(range(len(there)), names, rotation=30, ha="right", fontsize="small")
        axes.grid(axis="y", alpha=0.3)
        beside = " (diamonds: the paper)" if any(papers) else ""
        axes.set_title(f"{task_name(task)}{beside}", fontsize="small")


def _spread_over(figure: Any, tasks: dict[str, list[Found]]) -> list[tuple[Any, tuple[str, list[Found]]]]:
    """A panel for each task that has a score; panels too many are taken away."""
    tasks = {task: rows for task, rows in tasks.items() if any(row["runs"] for row in rows)}
    panels = _panels(figure, len(tasks))
    for empty in panels[len(tasks) :]:
        empty.remove()
    return list(zip(panels, tasks.items(), strict=False))


def _curves(found: Found, figure: Any) -> None:
    """A panel a task: score against the share of the training data, a line a system."""
    for axes, (task, rows) in _spread_over(figure, tasks_of(found)):
        for system in dict.fromkeys(row["system"] for row in rows):
            own = [row for row in rows if row["system"] == system and row["runs"]]
            if not own:
                continue
            shares = [100 * (row["recipe"]["training"]["share"] or 1.0) for row in own]
            means = [statistics.mean(values(row)) for row in own]
            axes.plot(shares, means, "o-", markersize=4, label=own[0]["label"].rpartition(",")[0])
            axes.set_ylabel(headline(own[0]["runs"][0]))
        axes.set_xlabel("percent of the training data")
        axes.set_title(task_name(task), fontsize="small")
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")


_DRAWN: dict[str, Callable[[Found, Any], None]] = {
    "data-size": _curves,
    "attention-share": measured_plots.attention_plot,
    "speed": measured_plots.speed_plot,
    "parameters": measured_plots.parameters_plot,
}
