"""``treeformer evaluate``: scores of a run on a split."""

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
    from treeformer.evaluation.classes import Confusion
    from treeformer.evaluation.significance import Comparison


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    split: Annotated[str, typer.Option(help="Split of the prepared corpus.")] = "test",
    data: Annotated[
        Path | None, typer.Option(help="Prepared corpus; default: the one the model was trained on.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another run that was evaluated on this split, to compare with.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    beams: option.Beams = None,
    length_penalty: option.LengthPenalty = None,
    batch: option.Batch = 64,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Score the model of a run on a split; predictions and scores are saved in RUN/predictions.

    treeformer evaluate runs/sst5 --split test
    """
    from treeformer.evaluation.predictions import predictions_path
    from treeformer.evaluation.report import evaluate, value
    from treeformer.evaluation.significance import compare

    if against is not None and not predictions_path(against, split).is_file():
        raise ValueError(
            f"{against}: no predictions for {split}; first run treeformer evaluate {against} --split {split}"
        )
    report = evaluate(
        run,
        split,
        data,
        device=device,
        bf16=bf16,
        batch=batch,
        beams=beams,
        length_penalty=length_penalty,
    )
    if report.facts["run"].get("finished") is False:
        print(f"{run}: training is not finished; this is its best model so far", file=sys.stderr)
    comparisons = {} if against is None else compare(run, against, split)
    if as_json:
        entries = {name: {**one._asdict(), "difference": one.difference} for name, one in comparisons.items()}
        print(json.dumps({**report.as_json(), "against": entries}, ensure_ascii=False))
        return
    print(report)
    for title, parts in (("words", report.by_length), ("group", report.by_group)):
        if parts:
            rows = [[key, str(count), f"{value(score):.2f}"] for key, (count, score) in parts.items()]
            print("\n" + table([[title, "examples", next(iter(report.scores))], *rows]))
    if report.confusion is not None:
        print(f"\n{_class_table(report.confusion)}\n\n{_matrix(report.confusion)}")
    if comparisons:
        print(f"\nagainst {against}, paired bootstrap\n{_comparison_table(comparisons)}")


def _class_table(confusion: Confusion) -> str:
    rows = [["class", "examples", "precision", "recall", "F1"]]
    for name, score in confusion.scores.items():
        numbers = [f"{number:.2f}" for number in (score.precision, score.recall, score.f1)]
        rows.append([name, str(score.count), *numbers])
    return table([*rows, ["macro F1", "", "", "", f"{confusion.macro_f1:.2f}"]])


def _matrix(confusion: Confusion) -> str:
    lines = zip(confusion.classes, confusion.matrix, strict=True)
    rows = [[name, *map(str, counts)] for name, counts in lines]
    return table([["class, and predicted as", *confusion.classes], *rows])


def _comparison_table(comparisons: Mapping[str, Comparison]) -> str:
    rows = [["", "this", "other", "difference", "95 %", "p"]]
    for name, one in comparisons.items():
        interval = "" if one.low is None else f"{one.low:+.2f} to {one.high:+.2f}"
        numbers = [f"{one.score:.2f}", f"{one.other:.2f}", f"{one.difference:+.2f}", interval, f"{one.p:.4f}"]
        rows.append([name, *numbers])
    signatures = [one.signature for one in comparisons.values() if one.signature]
    return "\n".join([table(rows), *signatures])
