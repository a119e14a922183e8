"""``treeformer score``: bracket F1 of predicted trees, as EVALB counts it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from treeformer.cli.tables import table

if TYPE_CHECKING:
    from treeformer.evaluation import BracketCounts, BracketScores, TreebankScores

SHORT = 40
COUNTS = {"sentences": "sentences", "errors": "  errors", "skipped": "  skipped", "valid": "  scored"}
BRACKETS = {"precision": "precision", "recall": "recall", "f1": "F1"}
MATCHES = {"complete_match": "complete match", "exact_match": "exact match"}
CROSSING = {
    "average_crossing": "crossing brackets a sentence",
    "no_crossing": "no crossing",
    "two_or_less_crossing": "2 or less crossing",
}
TAGS = {"tag_accuracy": "tag accuracy"}
SUMMARY = COUNTS | BRACKETS | MATCHES | CROSSING | TAGS
NOTE = """\
Counted as in EVALB with COLLINS.prm; in percent, except counts of sentences and crossing brackets.
  errors: tags mark other words as punctuation than in gold; skipped: no tree, or no words but punctuation
  exact match: all brackets and all tags are right; length includes punctuation"""


class By(StrEnum):
    """Breakdowns of the scores."""

    LENGTH = "length"
    LABEL = "label"


def command(
    gold: Annotated[str, typer.Argument(help="File of gold trees, - for standard input.")],
    predicted: Annotated[str, typer.Argument(help="File of predicted trees, - for standard input.")],
    by: Annotated[
        list[By] | None,
        typer.Option(help="Also print scores by sentence length or by label; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Score predicted trees against gold trees: bracket F1 as EVALB counts it.

    Both files have the same sentence on the same line. They may be compressed (.xz, .gz, .bz2).
    """
    from treeformer.evaluation import score_files

    if gold == predicted == "-":
        raise ValueError("GOLD and PREDICTED are both -: expected a file for at least one")
    scores = score_files(*(sys.stdin if name == "-" else name for name in (gold, predicted)))
    if as_json:
        print(json.dumps(_object(scores), ensure_ascii=False))
        return
    print(_summary(scores))
    if By.LENGTH in (by or ()):
        print("\n" + _by_length(scores))
    if By.LABEL in (by or ()):
        print("\n" + _by_label(scores))
    print("\n" + NOTE)


def _summary(scores: TreebankScores) -> str:
    """The table of all sentences and of the short ones."""
    columns = (scores.all, scores.at_most(SHORT))
    rows = [[title, *(_cell(each, name) for each in columns)] for name, title in SUMMARY.items()]
    return table([["", "all", f"up to {SHORT} words"], *rows])


def _by_length(scores: TreebankScores) -> str:
    """The table with a row for every ten words of length."""
    names = {"sentences": "sentences", "valid": "scored"} | BRACKETS | MATCHES | TAGS
    rows = [
        [f"{first}-{last}", *(_cell(each, name) for name in names)]
        for (first, last), each in scores.by_tens().items()
    ]
    return table([["words", *names.values()], *rows])


def _by_label(scores: TreebankScores) -> str:
    """The table with a row for every label."""
    names = {"gold": "gold", "predicted": "predicted", "matched": "matched"} | BRACKETS
    rows = [
        [label or "(empty)", *(_cell(each, name) for name in names)]
        for label, each in scores.by_label.items()
    ]
    return table([["label", *names.values()], *rows])


def _object(scores: TreebankScores) -> dict[str, object]:
    """All scores as a dictionary that ``json.dumps`` can write."""
    return {
        "all": _entry(scores.all),
        f"at_most_{SHORT}": _entry(scores.at_most(SHORT)),
        "by_length": [
            {"from": first, "to": last, **_entry(each)} for (first, last), each in scores.by_tens().items()
        ],
        "by_label": {
            label: asdict(each) | {name: getattr(each, name) for name in BRACKETS}
            for label, each in scores.by_label.items()
        },
    }


def _entry(scores: BracketScores) -> dict[str, float]:
    """All counts and percentages."""
    return asdict(scores) | {name: getattr(scores, name) for name in SUMMARY}


def _cell(scores: BracketCounts, name: str) -> str:
    """One value as text: counts are integers, other values have EVALB's two decimals."""
    value = getattr(scores, name)
    return str(value) if isinstance(value, int) else f"{value:.2f}"
