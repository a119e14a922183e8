"""Plots of results as SVG; matplotlib is an extra."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from treeformer.analysis.experiments import NEAREST, papers_score, task_name
from treeformer.analysis.results import Parameters, ResultRow, Results, Speed, Timing
from treeformer.analysis.rows import LABELS

_WORKS = ("training", "training, graphs", "inference")
_COLOURS = {system: f"C{number}" for number, system in enumerate(LABELS)}


def plot(results: Results, path: Path) -> None:
    """Draw results; equal results give equal files."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"{path}: a plot needs matplotlib: pip install '.[plot]' in the clone") from error
    mpl.rcParams["svg.hashsalt"] = "treeformer"
    figure = Figure(layout="constrained")
    if isinstance(results.measured, Speed):
        _plot_speed(results.measured, figure)
    elif isinstance(results.measured, Parameters):
        _plot_parameters(results.measured, figure)
    elif results.name == "attention-share":
        _plot_attention(results, figure)
    else:
        for axes, task, rows in _panels(results, figure):
            if results.name == "data-size":
                _plot_curves(axes, task, rows)
            elif results.name == "recursion":
                _plot_depths(axes, task, rows)
            else:
                _plot_scores(axes, task, rows, results.name)
    title = f"{results.title} (quick version)" if results.quick else results.title
    figure.suptitle(title, fontsize="medium")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _panels(results: Results, figure: Any) -> Iterator[tuple[Any, str, list[ResultRow]]]:
    """A panel for each task with a score, and its rows that have one; at most three panels in a row."""
    tasks = {task: [row for row in rows if row.runs] for task, rows in results.tasks.items()}
    tasks = {task: rows for task, rows in tasks.items() if rows}
    count = max(len(tasks), 1)
    columns = 2 if count == 4 else min(count, 3)
    lines = -(-count // columns)
    figure.set_size_inches(4.2 * columns, 3.4 * lines)
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for empty in panels[len(tasks) :]:
        empty.remove()
    for axes, (task, rows) in zip(panels, tasks.items(), strict=False):
        yield axes, task, rows


def _plot_scores(axes: Any, task: str, rows: Sequence[ResultRow], experiment: str) -> None:
    """Scores with their standard deviation, and the paper's where it has the task."""
    has_paper = False
    for place, row in enumerate(rows):
        scores = row.values()
        mean, error = statistics.mean(scores), statistics.stdev(scores) if len(scores) > 1 else 0.0
        axes.errorbar([place], [mean], yerr=[error], fmt="o", capsize=4, color=_COLOURS[row.system])
        text = f" {mean:.1f}" if row.metric == "accuracy" else f" {mean:.2f}"
        axes.annotate(text, (place, mean), textcoords="offset points", xytext=(4, 2), fontsize="x-small")
        paper = None if task in NEAREST else papers_score(experiment, task, row.label)
        if paper is not None:
            has_paper = True
            axes.plot([place], [paper], "D", color="black", fillstyle="none", markersize=5)
    axes.set_ylabel(rows[0].metric)
    axes.set_xlim(-0.5, len(rows) - 0.2)
    axes.set_xticks(range(len(rows)), [row.label for row in rows], rotation=30, ha="right", fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    legend = " (diamonds: the paper)" if has_paper else ""
    axes.set_title(f"{task_name(task)}{legend}", fontsize="small")


def _plot_curves(axes: Any, task: str, rows: Sequence[ResultRow]) -> None:
    """Score against the share of the training data, a line for each system."""
    for system in dict.fromkeys(row.system for row in rows):
        points = [(row, row.recipe) for row in rows if row.system == system and row.recipe]
        shares = [100 * (recipe["training"]["share"] or 1.0) for _, recipe in points]
        means = [statistics.mean(row.values()) for row, _ in points]
        axes.plot(shares, means, "o-", markersize=4, label=LABELS[system])
    axes.set_ylabel(rows[0].metric)
    axes.set_xlabel("percent of the training data")
    axes.set_title(task_name(task), fontsize="small")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _plot_depths(axes: Any, task: str, rows: Sequence[ResultRow]) -> None:
    """Accuracy against depth, a line for each row; a vertical line ends the depths of training."""
    axes.figure.set_size_inches(6.4, 4.2)
    for row in rows:
        scores: dict[int, list[float]] = {}
        for run in row.runs:
            for name, entry in (
                (name, entry) for test in run.tests.values() for name, entry in test.by_group.items()
            ):
                scores.setdefault(int(name), []).append(entry.value)
        depths = sorted(scores)
        means = [statistics.mean(scores[depth]) for depth in depths]
        errors = [statistics.stdev(scores[depth]) if len(scores[depth]) > 1 else 0.0 for depth in depths]
        axes.errorbar(depths, means, yerr=errors, fmt="o-", markersize=4, capsize=3, label=row.label)
    trained = max(
        (int(name) for row in rows for run in row.runs for name in run.main_test.by_group), default=0
    )
    axes.axvline(trained + 0.5, color="black", linestyle=":", label="trained on depths to the left")
    axes.set(xlabel="depth: lists inside each other", ylabel="accuracy", ylim=(0, 102))
    axes.set_title(task_name(task), fontsize="small")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _plot_attention(results: Results, figure: Any) -> None:
    """A panel for each run: by layer the share of attention on nodes, and the share of positions."""
    runs = [(row.task, run.seed, run.attention) for row in results.rows for run in row.runs if run.attention]
    count = max(1, len(runs))
    figure.set_size_inches(4.2 * count, 3.4)
    panels = figure.subplots(1, count, squeeze=False, sharey=True).flat
    for axes, (task, seed, shares) in zip(panels, runs, strict=False):
        places = list(range(1, len(shares.layers) + 1))
        for low, high, width in (("5", "95", 1), ("25", "75", 5)):
            lows, highs = ([layer.quantiles[bound] for layer in shares.layers] for bound in (low, high))
            axes.vlines(places, lows, highs, colors="C0", linewidth=width)
        means = [layer.mean for layer in shares.layers]
        axes.plot(places, means, "o", color="C0", label="attention on nodes")
        axes.axhline(shares.positions.mean, color="C1", label="nodes among positions")
        axes.set(title=f"{task_name(task)}, seed {seed}", xlabel="decoder layer", ylim=(0, 100))
        axes.set_xticks(places)
        axes.set_ylabel("percent (bars: 25–75 %, 5–95 % of sentences)", fontsize="small")
        axes.legend(fontsize="small")


def _plot_speed(speed: Speed, figure: Any) -> None:
    """A row of panels for each machine: training, inference with parsing, memory if measured."""
    figure.set_size_inches(13, 3.6 * len(speed.machines))
    rows_of_panels = figure.subplots(len(speed.machines), 3, squeeze=False)
    for machine, (training, inference, memory) in zip(speed.machines, rows_of_panels, strict=True):
        panels = [training, inference]
        rows = {work: [row for row in machine.rows if row.work == work] for work in _WORKS}
        _plot_lines(training, rows["training"], "milliseconds")
        _plot_lines(training, rows["training, graphs"], "milliseconds", "o--", ", CUDA graphs")
        _plot_lines(inference, rows["inference"], "milliseconds")
        for axes, work in ((training, "training"), (inference, "inference")):
            axes.set(title=f"{work}, {machine.device}", ylabel="ms a batch")
        lengths = [entry.length for entry in machine.parsing]
        times = [1e3 * machine.settings.sentences * entry.seconds_a_sentence for entry in machine.parsing]
        inference.plot(lengths, times, "x:", color="black", markersize=4, label="parsing, once")
        if any(row.peak_bytes for row in machine.rows):
            _plot_lines(memory, rows["training"], "peak_mebibytes")
            memory.set(title=f"memory of training, {machine.device}", ylabel="MiB above the weights")
            panels.append(memory)
        else:
            memory.remove()
        for axes in panels:
            axes.set_xlabel("words of a sentence")
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")


def _plot_lines(axes: Any, rows: Sequence[Timing], field: str, style: str = "o-", note: str = "") -> None:
    """A field of timings against length, a line for each system."""
    for system, label in LABELS.items():
        points = [(row.length, getattr(row, field)) for row in rows if row.system == system]
        if points:
            lengths, values = zip(*points, strict=True)
            colour = _COLOURS[system]
            axes.plot(lengths, values, style, color=colour, markersize=3, label=f"{label}{note}")


def _plot_parameters(measured: Parameters, figure: Any) -> None:
    """Bars: the parameters of each recipe's systems, without token embeddings."""
    rows = measured.recipes
    figure.set_size_inches(7, max(3.0, 0.17 * len(rows)))
    axes = figure.subplots()
    names = [f"{row.recipe}, {LABELS[row.system]}" for row in rows]
    axes.barh(names, [row.without_tokens for row in rows], color=[_COLOURS[row.system] for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("parameters without the table of tokens")
    axes.tick_params(axis="y", labelsize="xx-small")
