"""``treeformer classify --csv``: a table of texts to the table with their labels."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from treeformer.chunking import split_by_total
from treeformer.data.sample import BadLine
from treeformer.data.tables import Row
from treeformer.fitting.source import Source
from treeformer.storage import write_file

if TYPE_CHECKING:
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.onnx_classifier import OnnxClassifier
    from treeformer.progress import Progress

LABEL, PROBABILITY = "predicted", "probability"
_CHUNK = 1024  # texts that are sorted by length together


def table_of(path: Path, text: str | None) -> tuple[Source, str]:
    """The rows of a file and the column of its texts; ``ValueError`` for a table that cannot be answered."""
    source = Source.of(path)
    column = source.column("text", text, None, None)
    bad = [row for row in source.rows if isinstance(row, BadLine)]
    if bad:
        more = f"; {len(bad):,} bad rows in all" if len(bad) > 1 else ""
        raise ValueError(f"{bad[0].location}: {bad[0].problem}{more}")
    for name in (LABEL, PROBABILITY):
        if name in source.columns:
            raise ValueError(f"{path}: expected no column {name}, which is added; rename that column")
    return source, column


def classify_table(
    classifier: Classifier | OnnxClassifier,
    table: tuple[Source, str],
    output: Path | None,
    progress: Progress,
) -> None:
    """Write all columns and rows as CSV, with the label of each text and its probability.

    They are empty for a row without a text.

    Args:
        classifier: the classifier.
        table: the rows and the column of texts.
        output: the file to write; None for standard output.
        progress: receives the number of rows that are done.
    """
    source, column = table
    content = StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([*source.columns, LABEL, PROBABILITY])
    rows = [row for row in source.rows if isinstance(row, Row)]
    done = 0
    with progress:
        for chunk in split_by_total(rows, lambda _: 1, budget=_CHUNK):
            texts = [_text(row, column) for row in chunk]
            for row, answer in zip(chunk, _answers(classifier, texts), strict=True):
                writer.writerow([*(row.values.get(name) for name in source.columns), *answer])
            done += len(chunk)
            progress.update(done, len(rows))
    if output is None:
        print(content.getvalue(), end="")
        sys.stdout.flush()
    else:
        write_file(output, content.getvalue().encode())


def _text(row: Row, column: str) -> str:
    """The text of a row, empty if it has none."""
    value = row.values.get(column)
    return value if isinstance(value, str) else ""


def _answers(classifier: Classifier | OnnxClassifier, texts: list[str]) -> Iterator[tuple[str, str]]:
    """The label of each text and its probability."""
    from treeformer.data.reading import answer_each

    for answer in answer_each(classifier.processor.read(texts), classifier.classify):
        yield ("", "") if answer is None else (answer.label, f"{max(answer.probabilities):.4f}")
