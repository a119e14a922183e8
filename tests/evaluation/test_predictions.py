"""Files of predictions: read as they were written, anything else is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.evaluation.predictions import (
    ClassPrediction,
    TranslationPrediction,
    load_predictions,
    save_predictions,
)

CLASS = ClassPrediction("a film", 2, 0, "good", "bad", False, [0.25, 0.75], phrases=3, phrases_right=1)
TRANSLATION = TranslationPrediction("a\u2028b", 2, 1, "c d", "c d", -0.5, "c", "c")


@pytest.mark.parametrize("prediction", [CLASS, TRANSLATION])
def test_predictions_are_read_as_they_were_written(
    prediction: ClassPrediction | TranslationPrediction, tmp_path: Path
) -> None:
    path = tmp_path / "dev.jsonl"
    save_predictions(path, [prediction] * 2)
    assert load_predictions(path) == [prediction] * 2


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", ": expected predictions of treeformer evaluate, found none"),
        (b"[]", ": expected predictions of treeformer evaluate, found none"),  # torn: no newline
        (b"[]\n", ":1: expected predictions"),
        (b"5\n", ":1: expected predictions"),
        (b"[" * 100_000 + b"\n", ":1: expected predictions"),
        (b"\xff\n", ":1: expected predictions"),
        (b'{"reference": 1}\n', ":1: expected predictions of treeformer evaluate: source: "),
        (b'{"source": "a", "length": "x"}\n', ":1: expected predictions of treeformer evaluate: length: "),
    ],
)
def test_anything_else_is_refused_by_file_line_and_key(content: bytes, place: str, tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="expected predictions") as raised:
        load_predictions(path)
    assert str(raised.value).startswith(f"{path}{place}")
    assert len(str(raised.value).splitlines()) == 1
