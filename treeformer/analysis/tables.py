"""The Markdown page of an experiment: tables of its results, beside the paper's numbers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from treeformer.analysis.experiments import ATTENTION, NEAREST, PARAMETERS, POSITIONS, papers_score, task_name
from treeformer.analysis.results import (
    MachineSpeed,
    Parameters,
    ResultRow,
    Results,
    Speed,
)
from treeformer.analysis.rows import LABELS
from treeformer.evaluation.predictions import PHRASES

NOTHING = "–"
QUICK = (
    "**Quick version**: fewer updates, one seed, smaller models and, for large tasks, a share of the data. "
    "It takes minutes on two CPU cores and shows that everything runs. Its numbers cannot be compared with "
    "the paper's."
)
_TESTS = {"linzen.val": "Linzen, natural mix"} | {
    f"linzen.{count}": f"Linzen, {count} attractor{'s' if count > 1 else ''}" for count in range(1, 6)
}

_GROUPS = {"agreement": "test by number of attractors", "listops": "accuracy by depth"}


def markdown(results: Results, *, with_missing: bool = True, picture: str = "") -> str:
    """The page of an experiment: findings, tables, picture, remarks, missing runs, provenance."""
    parts = [f"# {results.title}"]
    if results.quick:
        parts.append(QUICK)
    if isinstance(results.measured, Speed):
        parts += [_speed_tables(machine) for machine in results.measured.machines]
    elif isinstance(results.measured, Parameters):
        parts.append(_parameter_tables(results.measured))
    elif results.name == "attention-share":
        parts.append(_attention_tables(results))
    else:
        parts += _score_tables(results)
    if picture:
        parts.append(f"![{results.title}]({picture})")
    if results.remarks:
        parts += ["## Remarks", results.remarks]
    if with_missing:
        parts += _missing(results)
    quick = " --quick" if results.quick else ""
    parts.append(
        f"Written by `treeformer reproduce {results.name}{quick}`. The JSON file next to it has every run."
    )
    return "\n\n".join(parts) + "\n"


def _score_tables(results: Results) -> list[str]:
    """Findings and notes, one table of all tasks, and one of each task."""
    tasks = {task: rows for task, rows in results.tasks.items() if any(row.runs for row in rows)}
    findings = [_finding(task, rows) for task, rows in tasks.items()]
    if results.name == "recursion":
        findings += [_finding(task, rows, "deep") for task, rows in tasks.items()]
    parts = ["\n".join(line for line in findings if line), *results.notes]
    if len(tasks) > 1:
        parts.append(_summary(results, tasks))
    for task, rows in tasks.items():
        parts += [f"## {task_name(task)}", _detail(results, task, rows)]
        parts += [_further_comparisons(results, task, rows), _other_tests(results, rows), _groups(task, rows)]
        parts.append(_provenance(results, task, rows))
    return [part for part in parts if part]


def _finding(task: str, rows: Sequence[ResultRow], split: str | None = None) -> str:
    """The highest score, and that of the rival of all rows; empty without scores or where rivals differ."""
    trained = [row for row in rows if row.values(split=split)]
    if not trained:
        return ""
    best = max(trained, key=lambda row: statistics.mean(row.values(split=split)))
    name = task_name(task) if split is None else f"{task_name(task)}, {split}"
    finding = f"- {name}: highest {best.metric} {_spread(best, split=split)} ({best.label})"
    if len({row.rival for row in rows}) > 1:
        return ""
    rivals = [row for row in trained if row.label == row.rival and row is not best]
    return f"{finding}; {rivals[0].label}: {_spread(rivals[0], split=split)}." if rivals else f"{finding}."


def _summary(results: Results, tasks: Mapping[str, Sequence[ResultRow]]) -> str:
    """Scores of all tasks side by side, and the paper's; columns without a number are left out."""
    labels = list(dict.fromkeys(row.label for rows in tasks.values() for row in rows))
    columns = [["", *labels]]
    for task, rows in tasks.items():
        by_label = {row.label: row for row in rows}
        chosen = [by_label.get(label) for label in labels]
        columns.append([task_name(task), *("" if row is None else _marked_score(row) for row in chosen)])
        paper = ["" if row is None else _paper(results, row) for row in chosen]
        if any(cell not in ("", NOTHING) for cell in paper):
            columns.append([_paper_heading(task), *paper])
    return markdown_table(list(zip(*columns, strict=True)))


def _marked_score(row: ResultRow) -> str:
    """The score, marked where it is from one seed or not from all seeds."""
    if not row.runs:
        return "not run"
    complete = len(row.runs) == len(row.seeds) > 1
    return _spread(row) if complete else f"{_spread(row)} ({_seeds(row)})"


def _detail(results: Results, task: str, rows: Sequence[ResultRow]) -> str:
    """Scores, significance and costs on one task."""
    is_bleu = any(row.metric != "accuracy" for row in rows)
    scores = ["BLEU of tokens", "BLEU (13a)"] if is_bleu else ["accuracy"]
    rivals = {row.rival for row in rows}
    if len(rivals) > 1:  # one for each share of the data
        rivals = {rival.partition(",")[0] for rival in rivals}
    ahead = f"{rivals.pop() if len(rivals) == 1 else 'rival'} ahead by"
    by_processor = any(run.cpu_seconds for row in rows for run in row.runs)
    costs = ["parameters", "processor minutes a run" if by_processor else "minutes a run", "peak memory"]
    has_phrases = any(row.values(PHRASES) for row in rows)
    has_paper = any(_paper(results, row) != NOTHING for row in rows)
    paper = [_paper_heading(task)] if has_paper else []
    compared = [] if results.quick else [ahead, "p"]
    phrases = [PHRASES, *compared] if has_phrases else []
    lines = [["", *scores, "seeds", *paper, *compared, *phrases, *costs]]
    for row in rows:
        memory = [run.peak_memory for run in row.runs if run.peak_memory]
        times = [run.cpu_seconds if by_processor else run.seconds for run in row.runs]
        minutes = [seconds / 60 for seconds in times if seconds]
        on_phrases = _spread(row, PHRASES) if row.phrases_taught else NOTHING
        lines.append(
            [
                row.label,
                _spread(row),
                *([_spread(row, "BLEU")] if is_bleu else []),
                _seeds(row),
                *([_paper(results, row)] if has_paper else []),
                *_difference(results, row, row.metric),
                *([on_phrases, *_difference(results, row, PHRASES)] if has_phrases else []),
                _number(row.runs[0].parameters if row.runs else None),
                _number(statistics.mean(minutes) if minutes else None, 1),
                f"{max(memory) / 2**30:.2f} GiB" if memory else NOTHING,
            ]
        )
    return markdown_table(lines)


def _difference(results: Results, row: ResultRow, metric: str, split: str = "test") -> list[str]:
    """The lead of the row's rival, with an interval where there is one, and p; nothing in a quick version."""
    if results.quick:
        return []
    for one in results.comparisons:
        if (one.task, one.label, one.rival, one.metric, one.split) == (
            row.task,
            row.label,
            row.rival,
            metric,
            split,
        ):
            interval = "" if one.low is None else f" ({one.low:+.1f} to {one.high:+.1f})"
            lead = f"{one.difference:+.{_digits(row)}f}{interval}"
            return [lead.replace("-", "−"), "< 0.001" if one.p < 0.001 else f"{one.p:.3f}"]
    return [NOTHING, NOTHING]


def _further_comparisons(results: Results, task: str, rows: Sequence[ResultRow]) -> str:
    """Comparisons with other rows than the rival of the first table."""
    rivals = {row.label: row.rival for row in rows}
    lines = [["", "against", "score", "ahead by", "p", "seeds"]]
    for one in results.comparisons:
        if one.task != task or one.rival == rivals.get(one.label):
            continue
        interval = "" if one.low is None or one.high is None else f" ({-one.high:+.1f} to {-one.low:+.1f})"
        lead = f"{-one.difference:+.1f}{interval}".replace("-", "−")
        p = "< 0.001" if one.p < 0.001 else f"{one.p:.3f}"
        lines.append([one.label, one.rival, one.metric, lead, p, ", ".join(map(str, one.seeds))])
    return markdown_table(lines) if len(lines) > 1 else ""


def _other_tests(results: Results, rows: Sequence[ResultRow]) -> str:
    """Scores on the splits after the main one, and significance where rows are compared on them."""
    compared = {one.split for one in results.comparisons}
    cells = {}
    for row in rows:
        splits = dict.fromkeys(split for run in row.runs for split in list(run.tests)[1:])
        for split in splits:
            name = _TESTS.get(split, split)
            cells[row.label, name] = _spread(row, split=split)
            if split in compared and not results.quick:
                lead, p = _difference(results, row, row.metric, split)
                cells |= {(row.label, f"{row.rival} ahead by"): lead, (row.label, "p"): p}
    return _pivot("accuracy", cells)


def _groups(task: str, rows: Sequence[ResultRow]) -> str:
    """Scores on the groups of the main split; those of all splits where groups are depths."""
    values: dict[tuple[str, str], list[float]] = {}
    title = _GROUPS.get(task, "group")
    for row in rows:
        for run in row.runs:
            tests = run.tests.values() if task == "listops" else [run.main_test]
            for name, entry in ((name, entry) for test in tests for name, entry in test.by_group.items()):
                values.setdefault((row.label, f"{name} ({entry.examples:,})"), []).append(entry.value)
    return _pivot(title, {key: _mean(scores, 1) for key, scores in values.items()})


def _provenance(results: Results, task: str, rows: Sequence[ResultRow]) -> str:
    """How p and the scores of a task were computed, and on which devices."""
    lines = []
    metrics = [one.metric for one in results.comparisons if one.task == task]
    if metrics:
        pooled = (
            "An example counts by the share of seeds that are right; the brackets hold 95 % of the resampled "
            "differences."
            if metrics[0] == "accuracy"
            else "Seeds are compared pair by pair, and p is the largest."
        )
        lines.append(
            "p: paired bootstrap over the test set with 1,000 samples, on the seeds that both rows have, so "
            f"a difference may deviate from that of the means. {pooled}"
        )
    runs = [run for row in rows for run in row.runs]
    signatures = dict.fromkeys(
        f"{name}: `{run.main_test.scores[name].signature}`"
        for run in runs
        for name in ("BLEU", "BLEU of tokens")
        if name in run.main_test.scores
    )
    if signatures:
        lines.append("; ".join(signatures) + ".")
    devices = dict.fromkeys(
        f"{run.device}, torch {run.versions['torch']}, transformers {run.versions['transformers']}"
        for run in runs
    )
    return "\n".join([*lines, f"Device: {'; '.join(devices)}."])


def _missing(results: Results) -> list[str]:
    """The list of missing runs, with the reasons of failures."""
    lines = []
    for row in results.rows:
        seeds: dict[str, list[int]] = {}
        for missing in row.missing:
            state = "not run" if missing.state == "missing" else f"not run ({missing.state})"
            reason = f"failed, {' '.join(missing.reason.split())[-300:]}" if missing.reason else state
            seeds.setdefault(reason, []).append(missing.seed)
        name = f"{task_name(row.task)}, {row.label}"
        lines += [f"- {name}, {named_seeds(numbers)}: {reason}" for reason, numbers in seeds.items()]
    return ["## Not run", "\n".join(lines)] if lines else []


def _attention_tables(results: Results) -> str:
    """By task and decoder layer: the share of attention on nodes, and of nodes among positions."""
    findings, parts = [], []
    for row in results.rows:
        for run in row.runs:
            shares = run.attention
            assert shares is not None
            findings.append(
                f"- {task_name(row.task)}, seed {run.seed}: nodes receive {shares.all.mean:.1f} % of "
                f"cross-attention and are {shares.positions.mean:.1f} % of the positions."
            )
            layers = {f"layer {number}": layer for number, layer in enumerate(shares.layers, start=1)}
            spreads = {"**nodes among positions**": shares.positions, "**all layers**": shares.all, **layers}
            cells = {(name, "mean"): f"{spread.mean:.1f}" for name, spread in spreads.items()}
            for name, spread in spreads.items():
                cells |= {(name, f"{key} %"): f"{share:.1f}" for key, share in spread.quantiles.items()}
            parts += [
                f"## {task_name(row.task)}, seed {run.seed}",
                _pivot("", cells),
                f"{shares.examples:,} sentences of {shares.split}. In {shares.above:.1f} % of them nodes "
                f"receive more than their share of positions. Device: {shares.device}.",
            ]
    paper = (
        f"In the paper nodes receive {ATTENTION[0]:.0f}–{ATTENTION[1]:.0f} % of cross-attention and are "
        f"{POSITIONS[0]:.0f}–{POSITIONS[1]:.0f} % of the positions. Here the decoder is fed the reference. "
        "Shares are in percent: the mean over heads and target tokens of a sentence, then mean and quantiles "
        "over sentences."
    )
    return "\n\n".join(["\n".join(findings), paper, *parts] if findings else [paper])


def _speed_tables(machine: MachineSpeed) -> str:
    """By length and system: times, ratios, memory; and the cost of parsing."""
    settings, first = machine.settings, LABELS[machine.rows[0].system]
    findings, parts = [], []
    for work in dict.fromkeys(row.work for row in machine.rows):
        rows = [row for row in machine.rows if row.work == work]
        ratios = [row.ratio for row in rows if row.system == "tree-transformer"]
        findings.append(f"{work} {min(ratios):.1f} to {max(ratios):.1f}" if ratios else work)
        times = {
            (str(row.length), f"{LABELS[row.system]}, ms"): f"{row.milliseconds:.2f} ({row.ratio:.2f})"
            for row in rows
        }
        memory = {
            (str(row.length), f"{LABELS[row.system]}, MiB"): f"{row.peak_mebibytes:.1f}"
            for row in rows
            if row.peak_bytes
        }
        parts += [f"### {work.capitalize()}, ms a batch", _pivot("words", times)]
        if memory:
            parts += ["Memory above weights and optimiser:", _pivot("words", memory)]
    parsing = {}
    for entry in machine.parsing:
        milliseconds = 1e3 * entry.seconds_a_sentence
        parsing[str(entry.length), "ms a sentence"] = f"{milliseconds:.2f}"
        parsing[str(entry.length), "ms a batch"] = f"{milliseconds * settings.sentences:.1f}"
    return "\n\n".join(
        [
            f"## {machine.device}",
            f"Time of the Tree Transformer relative to the {first}: {', '.join(findings)}.",
            f"Classifiers with states of width {settings.width}, float32, batches of {settings.sentences} "
            f"sentences. Trees: {settings.trees}. Times are medians of {settings.rounds} rounds in which the "
            f"systems take turns; brackets hold the ratio to the {first}. {settings.threads} threads, torch "
            f"{machine.versions['torch']}.",
            *parts,
            "### Cost of parsing",
            f"{settings.parser} parses each sentence once, before training. Measured on the CPU with "
            f"{settings.threads} threads.",
            _pivot("words", parsing),
        ]
    )


def _parameter_tables(measured: Parameters) -> str:
    """The paper's base models, and the systems of all recipes."""
    base = [[name, _number(count), _number(PARAMETERS[name])] for name, count in measured.base.items()]
    equal = "exactly" if measured.base == PARAMETERS else "not exactly"
    recipes = [["recipe", "system", "tokens", "parameters", "without token embeddings"]]
    for row in measured.recipes:
        numbers = (_number(count) for count in (row.tokens, row.parameters, row.without_tokens))
        recipes.append([row.recipe, LABELS[row.system], *numbers])
    return "\n\n".join(
        [
            f"The base models have {equal} the paper's number of parameters. Source, target, output and "
            f"labels share one table of {measured.rows_of_the_table:,} rows.",
            markdown_table([["", "parameters", "paper"], *base]),
            "## Recipes",
            "The number of tokens is known if the corpus is prepared or the recipe sets it.",
            markdown_table(recipes),
        ]
    )


def _paper_heading(task: str) -> str:
    return f"paper ({NEAREST[task]})" if task in NEAREST else "paper"


def _paper(results: Results, row: ResultRow) -> str:
    """The paper's score for a row; tasks named after two languages are scored by BLEU."""
    return _number(papers_score(results.name, row.task, row.label), 2 if "-" in row.task else 1)


def _digits(row: ResultRow) -> int:
    return 1 if row.metric == "accuracy" else 2


def _spread(row: ResultRow, name: str | None = None, split: str | None = None) -> str:
    """Mean and standard deviation of a score of a row."""
    return _mean(row.values(name, split), _digits(row))


def _mean(scores: Sequence[float], digits: int) -> str:
    """The mean, and from two scores on the standard deviation.

    >>> _mean([44.0, 45.0, 46.0], 1), _mean([28.351], 2), _mean([], 1)
    ('45.0 ± 1.0', '28.35', '–')
    """
    if not scores:
        return NOTHING
    mean = f"{statistics.mean(scores):.{digits}f}"
    return f"{mean} ± {statistics.stdev(scores):.{digits}f}" if len(scores) > 1 else mean


def _seeds(row: ResultRow) -> str:
    """The number of seeds that were run: ``not run``, ``1 seed``, ``2 of 3 seeds``, ``3 seeds``."""
    count, expected = len(row.runs), len(row.seeds)
    if not count:
        return "not run"
    if count < expected:
        return f"{count} of {expected} seeds"
    return "1 seed" if count == 1 else f"{count} seeds"


def named_seeds(seeds: Sequence[int]) -> str:
    """Seeds by their numbers.

    >>> named_seeds([2]), named_seeds([1, 3])
    ('seed 2', 'seeds 1, 3')
    """
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _number(count: float | None, digits: int = 0) -> str:
    return NOTHING if count is None else f"{count:,.{digits}f}"


def _pivot(corner: str, cells: Mapping[tuple[str, str], str]) -> str:
    """A Markdown table of cells by the names of their row and column; empty without cells."""
    if not cells:
        return ""
    rows, columns = (dict.fromkeys(names) for names in zip(*cells, strict=True))
    lines = [[row, *(cells.get((row, column), NOTHING) for column in columns)] for row in rows]
    return markdown_table([[corner, *columns], *lines])


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first line is its head."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([rows[0], f"|{' --- |' * len(lines[0])}", *rows[1:]])
