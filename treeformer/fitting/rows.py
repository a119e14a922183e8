"""Checked rows, split into train, dev and test."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from treeformer.data.sample import BadLine
from treeformer.data.tables import class_value, text_value
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.fitting.source import Source
from treeformer.parsing.tokenizer import tokenize

TEST = "test"
_TEST_SHARE, _LARGEST_TEST = 0.2, 5000
_DEV_SHARE, _LARGEST_DEV = 0.15, 2000


class LabelledText(NamedTuple):
    """One good row: its text, its class, and where it is from."""

    text: str
    label: str
    location: str

    @property
    def key(self) -> str:
        """What equal texts share: their words, without differences of case."""
        return " ".join(self.text.split()).casefold()


Splits = Mapping[str, Sequence[LabelledText]]


class BadRowsError(ValueError):
    """Rows that cannot be used. ``lines`` has one line for each: where it is, and what is wrong."""

    def __init__(self, source: str, bad: Sequence[BadLine], rows: int) -> None:
        self.lines = [f"{line.location}: {line.problem}" for line in bad]
        self.summary = (
            f"{source}: {len(bad):,} of {rows:,} rows cannot be used; correct them, or leave them out with "
            "--drop, in Python drop=True"
        )
        super().__init__("\n".join([*self.lines, self.summary]))


class Checked(NamedTuple):
    """The good rows of a source, and what is wrong with the others."""

    good: list[LabelledText]
    bad: list[BadLine]


def checked_rows(source: Source, text: str, label: str, language: str) -> Checked:
    """All rows, checked: each needs a text with words and a label."""
    good: list[LabelledText] = []
    bad: list[BadLine] = []
    for row in source.rows:
        if isinstance(row, BadLine):
            bad.append(row)
            continue
        values = text_value(row, text), class_value(row, label)
        problems = [value for value in values if isinstance(value, BadLine)]
        if not problems and not tokenize(str(values[0]), language):
            problem = f"column {text}: expected a text with words, found only invisible characters"
            problems = [BadLine(row.location, "no words", problem)]
        if problems:
            bad.append(problems[0]._replace(problem="; ".join(one.problem for one in problems)))
        else:
            good.append(LabelledText(str(values[0]), str(values[1]), row.location))
    return Checked(good, bad)


def without_rare(checked: Checked, label: str, fewest: int) -> Checked:
    """The rows whose class has at least ``fewest`` different texts; the others are bad."""
    texts = defaultdict(set)
    for row in checked.good:
        texts[row.label].add(row.key)
    rare = {name for name, keys in texts.items() if len(keys) < fewest}
    bad = [
        BadLine(
            row.location,
            "rare label",
            f"column {label}: expected at least {fewest} different texts of each class, found "
            f"{len(texts[row.label])} with the label {row.label!r}",
        )
        for row in checked.good
        if row.label in rare
    ]
    return Checked([row for row in checked.good if row.label not in rare], [*checked.bad, *bad])


def without_unknown(checked: Checked, label: str, classes: Collection[str]) -> Checked:
    """The rows of test whose class train has; the others are bad."""
    known = ", ".join(sorted(classes))
    bad = [
        BadLine(
            row.location,
            "unknown label",
            f"column {label}: expected one of the labels of train, {known:.200}, found {row.label!r}",
        )
        for row in checked.good
        if row.label not in classes
    ]
    return Checked([row for row in checked.good if row.label in classes], [*checked.bad, *bad])


def split_rows(rows: Sequence[LabelledText], seed: int, test: Sequence[LabelledText] | None = None) -> Splits:
    """The rows in train, dev and test: stratified by class, equal texts in one split.

    Args:
        rows: good rows.
        seed: decides which rows go where.
        test: rows of test from another file; texts of them are left out of train and dev.
    """
    if test is not None:
        keys = {row.key for row in test}
        rows = [row for row in rows if row.key not in keys]
    test_share = 0.0 if test is not None else min(_TEST_SHARE, _LARGEST_TEST / len(rows))
    dev_share = min(_DEV_SHARE, _LARGEST_DEV / len(rows))
    groups: dict[str, list[LabelledText]] = defaultdict(list)
    for row in rows:
        groups[row.key].append(row)
    classes: dict[str, list[list[LabelledText]]] = defaultdict(list)
    for group in groups.values():
        classes[group[0].label].append(group)
    chosen: dict[str, set[str]] = {DEV: set(), TEST: set()}
    for name in sorted(classes):
        shuffled = list(classes[name])
        random.Random(f"{seed} {name}").shuffle(shuffled)
        test_count = max(1, round(test_share * len(shuffled))) if test_share else 0
        dev_count = max(1, round(dev_share * len(shuffled)))
        chosen[TEST].update(group[0].key for group in shuffled[:test_count])
        chosen[DEV].update(group[0].key for group in shuffled[test_count : test_count + dev_count])
    held_out = chosen[DEV] | chosen[TEST]
    return {
        TRAIN: [row for row in rows if row.key not in held_out],
        DEV: [row for row in rows if row.key in chosen[DEV]],
        TEST: [row for row in rows if row.key in chosen[TEST]] if test is None else list(test),
    }


def contradictions(rows: Iterable[LabelledText]) -> int:
    """The number of texts that occur with different labels."""
    labels = defaultdict(set)
    for row in rows:
        labels[row.key].add(row.label)
    return sum(1 for names in labels.values() if len(names) > 1)


def class_counts(rows: Iterable[LabelledText]) -> dict[str, int]:
    """The number of rows of each class, in the order of their names."""
    return dict(sorted(Counter(row.label for row in rows).items()))


def json_lines(rows: Iterable[LabelledText]) -> bytes:
    """The rows as JSON lines, with what the recipe ``labelled`` reads."""
    lines = [json.dumps(row._asdict(), ensure_ascii=False) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()
