"""``treeformer evaluate``: a run and a test set to scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.tables import table

if TYPE_CHECKING:
    from treeformer.evaluation.report import Report, Score
    from treeformer.evaluation.significance import Comparison


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    split: Annotated[str, typer.Option(help="Of the prepared corpus.")] = "test",
    data: Annotated[
        Path | None, typer.Option(help="The prepared corpus; default: the one it was trained on.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another run, evaluated on the same split: is ours better?")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object with everything.")] = False,
    beams: option.Beams = None,
    length_penalty: option.LengthPenalty = None,
    batch: option.Batch = 64,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Score the model of a run on a split; predictions and scores go to RUN/predictions.

    treeformer evaluate runs/sst5 --split test
    """
    from treeformer.evaluation.report import answers_path, compare, evaluate

    if against is not None and not answers_path(against, split).is_file():
        raise ValueError(
            f"{against}: no predictions for {split}; first run treeformer evaluate {against} --split {split}"
        )
    report = evaluate(
        run,
        split,
        data=data,
        device=device,
        bf16=bf16,
        batch=batch,
        beams=beams,
        length_penalty=length_penalty,
    )
    if report.facts["run"].get("finished") is False:
        print(f"{run}: this run is not finished, this is its best model so far", file=sys.stderr)
    compared = {} if against is None else compare(run, against, split)
    if as_json:
        comparison = {name: {**one._asdict(), "difference": one.difference} for name, one in compared.items()}
        print(json.dumps({**report.as_json(), "against": comparison}, ensure_ascii=False))
        return
    print(_summary(report))
    for name, parts in (("words", report.by_length), ("group", report.by_group)):
        if parts:
            print("\n" + _parts(name, parts, report))
    if compared:
        print("\n" + _compared(compared, against))


def _summary(report: Report) -> str:
    """The scores, and where they come from."""
    facts = report.facts
    rows = [[name, f"{_value(score):.2f}", _detail(score)] for name, score in report.scores.items()]
    width = max(len(row[0]) for row in rows)
    lines = [f"{name:<{width}}  {value:>6}  {detail}" for name, value, detail in rows]
    decoding = "".join(f", {name.replace('_', ' ')} {value}" for name, value in facts["decoding"].items())
    made = f"{facts['examples']} examples, {facts['seconds']} s on {facts['device']}{decoding}"
    return "\n".join([f"{facts['split']}: {made}", *lines])


def _parts(title: str, parts: Mapping[str, tuple[int, Score]], report: Report) -> str:
    first = next(iter(report.scores))
    rows = [[key, str(count), f"{_value(score):.2f}"] for key, (count, score) in parts.items()]
    return table([[title, "examples", first], *rows])


def _compared(compared: Mapping[str, Comparison], against: Path | None) -> str:
    rows = [["", "this", "other", "difference", "95 %", "p"]]
    for name, one in compared.items():
        between = "" if one.low is None else f"{one.low:+.2f} to {one.high:+.2f}"
        rows.append(
            [name, f"{one.score:.2f}", f"{one.other:.2f}", f"{one.difference:+.2f}", between, f"{one.p:.4f}"]
        )
    signatures = [one.signature for one in compared.values() if one.signature]
    return "\n".join([f"against {against}, paired bootstrap", table(rows), *signatures])


def _value(score: Score) -> float:
    from treeformer.evaluation.accuracy import Accuracy

    return score.percent if isinstance(score, Accuracy) else score.score


def _detail(score: Score) -> str:
    """How sure an accuracy is, or how a score was computed."""
    from treeformer.evaluation.accuracy import Accuracy

    if not isinstance(score, Accuracy):
        return score.signature
    share = f"{score.right} of {score.count}"
    if score.interval is None:
        return share
    low, high = score.interval
    return f"{share}, 95 %: {low:.2f} to {high:.2f}"
