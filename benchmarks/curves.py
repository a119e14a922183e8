"""How runs learnt: dev scores against updates, what each run cost, and a plot.

python -m benchmarks.curves runs/tree runs/plain --json curves.json --plot curves.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def history(run: Path) -> Row:
    """The facts of a run, its losses and its looks at dev."""
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    logged = [line for line in lines if "loss" in line]
    scores = {
        path.name.split(".")[0]: json.loads(path.read_text(encoding="utf-8"))["scores"]
        for path in sorted(run.glob("predictions/*.scores.json"))
    }
    return {
        "run": run.name,
        **{key: facts[key] for key in ("seed", "recipe", "device", "versions", "parameters", "seconds")},
        "updates": facts["updates"],
        "peak_memory": facts["peak_memory"],
        "best": facts["best"],
        "waiting": sum(line["waiting"] for line in logged) / len(logged),
        "loss": [(line["step"], round(line["loss"], 4)) for line in logged if line["step"] % 500 == 0],
        "dev": [
            (line["step"], round(line[f"dev_{facts['metric']}"], 4))
            for line in lines
            if f"dev_{facts['metric']}" in line and "averaged" not in line
        ],
        "metric": facts["metric"],
        "scores": scores,
    }


def plot(rows: list[Row], path: Path) -> None:
    """Dev scores against updates, one line a run; training losses dashed where the metric is a loss."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for number, row in enumerate(rows):
        colour = f"C{number}"
        axes.plot(*zip(*row["dev"], strict=True), marker="o", markersize=3, color=colour, label=row["run"])
        if row["metric"] == "loss":
            axes.plot(*zip(*row["loss"], strict=True), linestyle="--", linewidth=0.8, color=colour)
    axes.set_xlabel("updates")
    axes.set_ylabel(f"dev {rows[0]['metric']} (dashed: training loss)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders that are finished")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows = [history(run) for run in options.runs]
    for row in rows:
        print(
            f"{row['run']}: {row['parameters']:,} parameters, "
            f"{row['updates']} updates in {row['seconds']:.0f} s "
            f"on {row['device']}, {row['peak_memory'] / 2**20:,.0f} MiB, waited for data "
            f"{row['waiting']:.1%} of the time, best {row['metric']} {row['best']:.4f}"
        )
        for split, scores in row["scores"].items():
            for name, score in scores.items():
                print(f"  {split}: {name} {score['score']:.2f}  {score['signature']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
