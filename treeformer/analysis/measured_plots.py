"""Pictures of what is measured rather than scored: attention, speed, parameters."""

from __future__ import annotations

from typing import Any

from treeformer.analysis.cells import LABELS
from treeformer.analysis.numbers import Found
from treeformer.analysis.paper import task_name


def colour_of(system: str) -> str:
    """The same for a system in all pictures."""
    return f"C{list(LABELS).index(system)}"


def attention_plot(found: Found, figure: Any) -> None:
    """A panel a run: by layer the share of attention on nodes with its quantiles, and that of positions."""
    runs = [(row["task"], run) for row in found["rows"] for run in row["runs"]]
    figure.set_size_inches(4.2 * max(1, len(runs)), 3.4)
    panels = figure.subplots(1, max(1, len(runs)), squeeze=False, sharey=True).flat
    for axes, (task, run) in zip(panels, runs, strict=False):
        shares = run["attention"]
        places = list(range(1, len(shares["layers"]) + 1))
        for low, high, width in (("5", "95", 1), ("25", "75", 5)):
            quantiles = [own["quantiles"] for own in shares["layers"]]
            lows, highs = ([own[bound] for own in quantiles] for bound in (low, high))
            axes.vlines(places, lows, highs, colors="C0", linewidth=width)
        axes.plot(
            places, [own["mean"] for own in shares["layers"]], "o", color="C0", label="attention on nodes"
        )
        axes.axhline(shares["positions"]["mean"], color="C1", label="nodes among positions")
        axes.set(title=f"{task_name(task)}, seed {run['seed']}", xlabel="decoder layer", ylim=(0, 100))
        axes.set_xticks(places)
        axes.set_ylabel("percent (bars: 25–75 %, 5–95 % of sentences)", fontsize="small")
        axes.legend(fontsize="small")


def speed_plot(found: Found, figure: Any) -> None:
    """Time of a batch against the length of its sentences, a row of panels for each machine."""
    machines = found["measured"]["machines"]
    figure.set_size_inches(13, 3.6 * len(machines))
    for measured, panels in zip(machines, figure.subplots(len(machines), 3, squeeze=False), strict=True):
        _machine_plot(measured, panels)


def _machine_plot(measured: Found, panels: Any) -> None:
    """Training, inference with parsing, and memory where it was measured."""
    rows, settings = measured["rows"], measured["settings"]
    for axes, kinds in zip(panels, (("training", "training, graphs"), ("inference",)), strict=False):
        for kind in kinds:
            _lines(
                axes, [row for row in rows if row["work"] == kind], "milliseconds", dashed=kind != kinds[0]
            )
        axes.set(title=f"{kinds[0]}, {measured['device']}", ylabel="ms a batch")
    lengths = [one["length"] for one in measured["parsing"]]
    costs = [1e3 * settings["sentences"] * one["seconds_a_sentence"] for one in measured["parsing"]]
    panels[1].plot(lengths, costs, "x:", color="black", markersize=4, label="parsing, once")
    if any(row["peak_bytes"] for row in rows):
        _lines(panels[2], [row for row in rows if row["work"] == "training"], "peak_bytes", scale=2**-20)
        panels[2].set(title=f"memory of training, {measured['device']}", ylabel="MiB above the weights")
    else:
        panels[2].remove()
        panels = panels[:2]
    for axes in panels:
        axes.set_xlabel("words of a sentence")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")


def _lines(axes: Any, rows: list[Found], key: str, *, dashed: bool = False, scale: float = 1.0) -> None:
    """A line a system."""
    for name in LABELS:
        own = [row for row in rows if row["system"] == name]
        if own:
            axes.plot(
                [row["length"] for row in own],
                [scale * row[key] for row in own],
                "o--" if dashed else "o-",
                color=colour_of(name),
                markersize=3,
                label=f"{LABELS[name]}, CUDA graphs" if dashed else LABELS[name],
            )


def parameters_plot(found: Found, figure: Any) -> None:
    """Bars: the parameters of each recipe's systems, without the table of tokens."""
    rows = found["measured"]["recipes"]
    figure.set_size_inches(7, max(3.0, 0.17 * len(rows)))
    axes = figure.subplots()
    names = [f"{row['recipe']}, {LABELS[row['system']]}" for row in rows]
    colours = [colour_of(row["system"]) for row in rows]
    axes.barh(names, [row["without_tokens"] for row in rows], color=colours)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("parameters without the table of tokens")
    axes.tick_params(axis="y", labelsize="xx-small")
