"""Tables of what is measured rather than scored: attention, speed, parameters."""

from __future__ import annotations

from treeformer.analysis.cells import LABELS
from treeformer.analysis.numbers import NOTHING, Found, markdown_table, number
from treeformer.analysis.paper import ATTENTION, PARAMETERS, POSITIONS, TASKS


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
                f"## {TASKS.get(row['task'], row['task'])}, seed {run['seed']}",
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
    systems = list(dict.fromkeys(row["system"] for row in measured["rows"]))
    lengths = settings["lengths"]
    parsing = {one["length"]: one["seconds_a_sentence"] for one in measured["parsing"]}
    parts = [
        f"## {measured['device']}",
        f"{settings['sentences']} sentences a batch, trees: {settings['trees']}; medians of "
        f"{settings['rounds']} rounds in turns, in brackets the ratio to {LABELS[systems[0]]}. "
        f"{settings['threads']} threads, torch {measured['versions']['torch']}.",
    ]
    for work in dict.fromkeys(row["work"] for row in measured["rows"]):
        cells = {(row["length"], row["system"]): row for row in measured["rows"] if row["work"] == work}
        lines = [["words", *(f"{LABELS[system]}, ms" for system in systems)]]
        lines += [
            [str(length), *(_time(cells.get((length, system))) for system in systems)] for length in lengths
        ]
        parts += [f"### {work[0].upper()}{work[1:]}, ms a batch", markdown_table(lines)]
        if any(row["peak_bytes"] for row in cells.values()):
            lines = [["words", *(f"{LABELS[system]}, MiB" for system in systems)]]
            lines += [
                [str(length), *(f"{cells[length, system]['peak_bytes'] / 2**20:.1f}" for system in systems)]
                for length in lengths
            ]
            parts += ["Memory on top of weights and optimiser:", markdown_table(lines)]
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


def _time(row: Found | None) -> str:
    return NOTHING if row is None else f"{row['milliseconds']:.2f} ({row['ratio']:.2f})"


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
