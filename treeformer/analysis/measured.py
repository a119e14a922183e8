"""Tables of what is measured rather than scored: attention, speed, parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treeformer.analysis.cells import LABELS
from treeformer.analysis.numbers import NOTHING, Found, markdown_table, number
from treeformer.analysis.paper import ATTENTION, PARAMETERS, POSITIONS, task_name


def attention_table(found: Found) -> str:
    """By task and decoder layer: the share of attention on nodes, beside that of nodes among positions."""
    parts = [
        f"The paper: {ATTENTION[0]:.0f}–{ATTENTION[1]:.0f} % of cross-attention falls on nodes, which are "
        f"{POSITIONS[0]:.0f}–{POSITIONS[1]:.0f} % of the positions. Here the model reads the reference; "
        "percent, mean over heads and target tokens of each sentence, then mean and quantiles over sentences."
    ]
    for row in found["rows"]:
        for run in row["runs"]:
            shares = run["attention"]
            head = ["", "mean", *(f"{quantile} %" for quantile in shares["positions"]["quantiles"])]
            lines = [
                [name, *(f"{share:.1f}" for share in (own["mean"], *own["quantiles"].values()))]
                for name, own in _named(shares)
            ]
            parts += [
                f"## {task_name(row['task'])}, seed {run['seed']}",
                markdown_table([head, *lines]),
                f"{shares['examples']:,} sentences of {shares['split']}; in {shares['above']:.1f} % of them "
                f"nodes take more than their share. {shares['device']}.",
            ]
    return "\n\n".join(parts)


def _named(shares: Found) -> list[tuple[str, Found]]:
    layers = [(f"layer {number}", own) for number, own in enumerate(shares["layers"], start=1)]
    return [("**nodes among positions**", shares["positions"]), ("**all layers**", shares["all"]), *layers]


def speed_table(found: Found) -> str:
    """By machine, length and system: times, ratios, memory; and what parsing costs."""
    return "\n\n".join(_machine_table(measured) for measured in found["measured"]["machines"])


def _machine_table(measured: Found) -> str:
    settings = measured["settings"]
    lengths = settings["lengths"]
    parsing = {one["length"]: one["seconds_a_sentence"] for one in measured["parsing"]}
    first = measured["rows"][0]["system"]
    parts = [
        f"## {measured['device']}",
        f"Classifiers with states of {settings['width']} numbers, in float32; "
        f"{settings['sentences']} sentences a batch, trees: {settings['trees']}; medians of "
        f"{settings['rounds']} rounds in turns, in brackets the ratio to {LABELS[first]}. "
        f"{settings['threads']} threads, torch {measured['versions']['torch']}.",
    ]
    for work in dict.fromkeys(row["work"] for row in measured["rows"]):
        rows = [row for row in measured["rows"] if row["work"] == work]
        parts += [f"### {work[0].upper()}{work[1:]}, ms a batch", _by_length(rows, "ms", _time)]
        if any(row["peak_bytes"] for row in rows):
            parts += ["Memory on top of weights and optimiser:", _by_length(rows, "MiB", _memory)]
    lines = [["words", "ms a sentence", "ms a batch"]]
    lines += [
        [str(length), f"{1e3 * parsing[length]:.2f}", f"{1e3 * parsing[length] * settings['sentences']:.1f}"]
        for length in lengths
    ]
    parts += [
        "### The cost of parsing",
        f"{settings['parser']}, which runs once for each sentence, before training; on the CPU, "
        f"{settings['threads']} threads.",
        markdown_table(lines),
    ]
    return "\n\n".join(parts)


def _by_length(rows: Sequence[Found], unit: str, shown: Callable[[Found], str]) -> str:
    """A line a length, a column a system."""
    cells = {(row["length"], row["system"]): shown(row) for row in rows}
    lengths, systems = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [[str(length), *(cells.get((length, own), NOTHING) for own in systems)] for length in lengths]
    return markdown_table([["words", *(f"{LABELS[system]}, {unit}" for system in systems)], *lines])


def _time(row: Found) -> str:
    return f"{row['milliseconds']:.2f} ({row['ratio']:.2f})"


def _memory(row: Found) -> str:
    return f"{row['peak_bytes'] / 2**20:.1f}"


def parameters_table(found: Found) -> str:
    """The paper's two models, and the systems of all recipes."""
    measured = found["measured"]
    base = [["", "parameters", "paper"]]
    base += [[name, number(count), number(PARAMETERS[name])] for name, count in measured["base"].items()]
    lines = [["recipe", "system", "tokens", "parameters", "without the table of tokens"]]
    lines += [
        [
            row["recipe"],
            LABELS[row["system"]],
            number(row["tokens"]),
            number(row["parameters"]),
            number(row["without_tokens"]),
        ]
        for row in measured["recipes"]
    ]
    return "\n\n".join(
        [
            f"Base models, one table of {measured['rows_of_the_table']:,} rows for source, target, output "
            "and labels:",
            markdown_table(base),
            "## Recipes",
            "Where the number of tokens is not known, the corpus is not prepared.",
            markdown_table(lines),
        ]
    )
