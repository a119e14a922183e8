"""Files of earlier runs that `reproduce` reads again: anything else is named by file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.analysis.results import AttentionShare
from treeformer.analysis.workspace import _split_scores


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "expected a JSON object, found list"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "run: expected the facts of a run"),
        (b'{"run": {"finished": true}}', "scores: Field required"),
        (b'{"run": {"finished": true}, "scores": 5}', "scores: Input should be"),
    ],
)
def test_scores_of_the_wrong_shape(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "dev.scores.json").write_bytes(content)
    with pytest.raises(ValueError, match=rf"dev\.scores\.json: .*{message}"):
        _split_scores(tmp_path, "dev")


def test_a_record_of_the_wrong_shape(tmp_path: Path) -> None:
    path = tmp_path / "attention.json"
    path.write_text('{"a\\nb": 1}')
    with pytest.raises(ValueError, match=r"attention\.json: \S+: ") as raised:
        AttentionShare.load(path)
    assert len(str(raised.value).splitlines()) == 1
