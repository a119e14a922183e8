"""Numbers out of what an experiment found, and how a page writes them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Found = dict[str, Any]
HEADLINES = ("accuracy", "BLEU of tokens")  #: the score of a table, whichever a run has
NOTHING = "–"


def headline(run: Found, split: str | None = None) -> str:
    """The name of the score that tables show for a run."""
    scores = _test(run, split)["scores"]
    return next(name for name in HEADLINES if name in scores)


def value(run: Found, name: str | None = None, split: str | None = None) -> float | None:
    """A score of a run, by default its headline on its first split; None if it lacks it."""
    entry = _test(run, split)["scores"].get(name or headline(run, split))
    return None if entry is None else float(entry["percent"] if "percent" in entry else entry["score"])


def _test(run: Found, split: str | None) -> Found:
    tests = run["tests"]
    return dict(tests[split] if split else next(iter(tests.values())))


def values(row: Found, name: str | None = None, split: str | None = None) -> list[float]:
    """The scores of all runs of a row."""
    found = [value(run, name, split) for run in row["runs"] if split is None or split in run["tests"]]
    return [score for score in found if score is not None]


def spread(scores: Sequence[float], digits: int = 1) -> str:
    """The mean, and from two seeds on the standard deviation.

    >>> spread([44.0, 45.0, 46.0]), spread([28.351], 2), spread([])
    ('45.0 ± 1.0', '28.35', '–')
    """
    if not scores:
        return NOTHING
    mean = f"{statistics.mean(scores):.{digits}f}"
    return f"{mean} ± {statistics.stdev(scores):.{digits}f}" if len(scores) > 1 else mean


def seeds(row: Found) -> str:
    """How many runs a number is from.

    >>> seeds({"runs": [{}], "seeds": [1]}), seeds({"runs": [{}, {}], "seeds": [1, 2, 3]})
    ('1 seed', '2 of 3 seeds')
    """
    there, wanted = len(row["runs"]), len(row["seeds"])
    if not there:
        return "not run"
    if there < wanted:
        return f"{there} of {wanted} seeds"
    return "1 seed" if there == 1 else f"{there} seeds"


def named_seeds(numbers: Sequence[int]) -> str:
    """Seeds by their numbers.

    >>> named_seeds([2]), named_seeds([1, 3])
    ('seed 2', 'seeds 1, 3')
    """
    return f"seed{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def digits_of(row: Found) -> int:
    """Accuracy has one digit, BLEU two."""
    return 1 if not row["runs"] or headline(row["runs"][0]) == "accuracy" else 2


def minutes(runs: Sequence[Found]) -> float | None:
    """Minutes of training, the mean of these runs."""
    found = [run["seconds"] / 60 for run in runs if run.get("seconds")]
    return statistics.mean(found) if found else None


def memory(row: Found) -> str:
    """The most memory that a run took."""
    found = [run["peak_memory"] for run in row["runs"] if run.get("peak_memory")]
    return f"{max(found) / 2**30:.2f} GiB" if found else NOTHING


def number(count: float | None, digits: int = 0) -> str:
    """A number for a table."""
    return NOTHING if count is None else f"{count:,.{digits}f}"


def p_value(p: float) -> str:
    """A probability; 1,000 samples tell no less than 0.001.

    >>> p_value(0.0214), p_value(0.000999)
    ('0.021', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, the first row its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])
