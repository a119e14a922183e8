"""What an experiment found as a page in Markdown: its tables beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treeformer.analysis import measured
from treeformer.analysis.numbers import (
    NOTHING,
    Found,
    digits_of,
    headline,
    markdown_table,
    memory,
    minutes,
    named_seeds,
    number,
    p_value,
    seeds,
    spread,
    values,
)
from treeformer.analysis.paper import NEAREST, papers_score, task_name

QUICK = (
    "**Quick version**: fewer updates, one seed, for large tasks a share of the data and smaller models, so "
    "that two CPU cores do it in minutes. Its numbers show that everything runs; they say nothing about the "
    "paper's."
)
_MEASURED: dict[str, Callable[[Found], str]] = {
    "attention-share": measured.attention_table,
    "speed": measured.speed_table,
    "parameters": measured.parameters_table,
}
_TEST = {"linzen.val": "Linzen, natural mix"} | {
    f"linzen.{count}": f"Linzen, {count} attractor{'s' if count > 1 else ''}" for count in range(1, 6)
}


def markdown(found: Found) -> str:
    """The page of an experiment, made of what ``results/NAME.json`` holds and of remarks to it."""
    command = f"treeformer reproduce {found['name']}{' --quick' if found['quick'] else ''}"
    parts = [f"# {found['title']}", f"Made by `{command}`; every single run is in the JSON file beside."]
    if found["quick"]:
        parts.append(QUICK)
    parts += found["notes"]
    if found["name"] in _MEASURED:
        parts.append(_MEASURED[found["name"]](found))
    else:
        parts += _trained(found)
    if found.get("remarks"):
        parts += ["## Remarks", found["remarks"]]
    parts += _missing(found)
    return "\n\n".join(filter(None, parts)) + "\n"


def tasks_of(found: Found) -> dict[str, list[Found]]:
    """The rows by task."""
    tasks: dict[str, list[Found]] = {}
    for row in found["rows"]:
        tasks.setdefault(row["task"], []).append(row)
    return tasks


def _trained(found: Found) -> list[str]:
    tasks = {task: rows for task, rows in tasks_of(found).items() if any(row["runs"] for row in rows)}
    parts = [_summary(found, tasks)] if len(tasks) > 1 else []
    for task, rows in tasks.items():
        parts += [f"## {task_name(task)}", _detail(found, task, rows), *_below(found, task, rows)]
    return parts


def _summary(found: Found, tasks: dict[str, list[Found]]) -> str:
    """All tasks beside each other, ours and the paper's."""
    labels = list(dict.fromkeys(row["label"] for rows in tasks.values() for row in rows))
    head = [""]
    for task in tasks:
        head += [task_name(task), _paper(task)]
    lines = [head]
    for label in labels:
        line = [label]
        for rows in tasks.values():
            row = next((row for row in rows if row["label"] == label), None)
            line += ["", ""] if row is None else [_score(row), _papers_score(found, row)]
        lines.append(line)
    used = [
        column for column in range(len(head)) if any(line[column] not in ("", NOTHING) for line in lines[1:])
    ]
    return markdown_table([[line[column] for column in used] for line in lines])


def _paper(task: str) -> str:
    """The heading of the paper's numbers, which may be of another task."""
    return f"paper ({NEAREST[task]})" if task in NEAREST else "paper"


def _papers_score(found: Found, row: Found) -> str:
    """The paper's number beside a row, with as many digits as ours; a task of two languages has BLEU."""
    return number(papers_score(found["name"], row["task"], row["label"]), 2 if "-" in row["task"] else 1)


def _score(row: Found) -> str:
    """A score with its spread, marked where it is of one seed or of less than there should be."""
    if not row["runs"]:
        return "not run"
    score, count = spread(values(row), digits_of(row)), len(row["runs"])
    return score if count == len(row["seeds"]) > 1 else f"{score} ({seeds(row)})"


def _detail(found: Found, task: str, rows: Sequence[Found]) -> str:
    """One task: scores, significance and costs."""
    bleu = any(row["runs"] and headline(row["runs"][0]) != "accuracy" for row in rows)
    scores = ["BLEU of tokens", "BLEU (13a)"] if bleu else ["accuracy"]
    costs = ["parameters", "minutes a run", "peak memory"]
    rivals = {row["rival"].partition(",")[0] for row in rows}
    ahead = f"{rivals.pop() if len(rivals) == 1 else 'rival'} ahead by"
    lines = [["", *scores, "seeds", _paper(task), ahead, "p", *costs]]
    for row in rows:
        digits = digits_of(row)
        own = [spread(values(row), digits)] + ([spread(values(row, "BLEU"), digits)] if bleu else [])
        parameters = row["runs"][0]["parameters"] if row["runs"] else None
        lines.append(
            [
                row["label"],
                *own,
                seeds(row),
                _papers_score(found, row),
                *_compared(found, row),
                number(parameters),
                number(minutes(row["runs"]), 1),
                memory(row),
            ]
        )
    if all(line[len(scores) + 2] == NOTHING for line in lines[1:]):
        lines = [line[: len(scores) + 2] + line[len(scores) + 3 :] for line in lines]
    return markdown_table(lines)


def _compared(found: Found, row: Found) -> list[str]:
    """By how much the row's rival is ahead of it, with the interval where there is one, and p."""
    for one in found["comparisons"]:
        if (one["task"], one["label"]) == (row["task"], row["label"]):
            between = "" if one["low"] is None else f" ({one['low']:+.1f} to {one['high']:+.1f})"
            ahead = f"{one['difference']:+.{digits_of(row)}f}{between}"
            return [ahead.replace("-", "−"), p_value(one["p"])]
    return [NOTHING, NOTHING]


def _below(found: Found, task: str, rows: Sequence[Found]) -> list[str]:
    """What stands under a task's table: other test sets, groups, how scores and p were computed, devices."""
    parts = [*_other_tests(rows), *_groups(rows)]
    compared = [one for one in found["comparisons"] if one["task"] == task]
    lines = []
    if compared:
        pooled = (
            "an example counts by the share of seeds that are right, and 95 % of the drawn differences lie "
            "within the brackets"
            if compared[0]["metric"] == "accuracy"
            else "seeds are tested pair by pair, and the largest p is given"
        )
        lines.append(
            "p: paired bootstrap over the test set, 1,000 samples, by the seeds that both have, so that a "
            f"difference need not be that of the means; {pooled}."
        )
    runs = [run for row in rows for run in row["runs"]]
    signatures = dict.fromkeys(
        f"{name}: `{entry['signature']}`"
        for run in runs
        for name, entry in next(iter(run["tests"].values()))["scores"].items()
        if name in ("BLEU", "BLEU of tokens") and "signature" in entry
    )
    if signatures:
        lines.append("; ".join(signatures) + ".")
    where = dict.fromkeys(
        f"{run['device']}, torch {run['versions']['torch']}, transformers {run['versions']['transformers']}"
        for run in runs
    )
    if where:
        lines.append(f"Device: {'; '.join(where)}.")
    return [*parts, "\n".join(lines)]


def _other_tests(rows: Sequence[Found]) -> list[str]:
    """Scores on the splits after the first."""
    splits = list(
        dict.fromkeys(split for row in rows for run in row["runs"] for split in list(run["tests"])[1:])
    )
    if not splits:
        return []
    head = ["accuracy", *(_TEST.get(split, split) for split in splits)]
    lines = [
        [row["label"], *(spread(values(row, split=split), digits_of(row)) for split in splits)]
        for row in rows
        if row["runs"]
    ]
    return [markdown_table([head, *lines])]


def _groups(rows: Sequence[Found]) -> list[str]:
    """Accuracy by group of the test set, that is by number of attractors."""
    tests = {row["label"]: [next(iter(run["tests"].values())) for run in row["runs"]] for row in rows}
    names = dict.fromkeys(
        group for own in tests.values() for test in own for group in test.get("by_group", {})
    )
    if not names:
        return []
    sizes = {
        group: entry["examples"]
        for own in tests.values()
        for test in own
        for group, entry in test["by_group"].items()
    }
    head = ["test by number of attractors", *(f"{group} ({sizes[group]:,})" for group in names)]
    lines = [
        [label, *(spread([test["by_group"][group]["percent"] for test in own]) for group in names)]
        for label, own in tests.items()
        if own
    ]
    return [markdown_table([head, *lines])]


def _missing(found: Found) -> list[str]:
    """What was not run, and why."""
    lines = []
    for row in found["rows"]:
        for reason in dict.fromkeys(_reason(gap) for gap in row["missing"]):
            gaps = [gap["seed"] for gap in row["missing"] if _reason(gap) == reason]
            lines.append(f"- {task_name(row['task'])}, {row['label']}, {named_seeds(gaps)}: {reason}")
    return ["## Not run", "\n".join(lines)] if lines else []


def _reason(gap: Found) -> str:
    if gap["reason"]:
        return f"failed, {_one_line(gap['reason'])}"
    return "not run" if gap["state"] == "missing" else f"not run ({gap['state']})"


def _one_line(text: str) -> str:
    return " ".join(text.split())[-300:]
