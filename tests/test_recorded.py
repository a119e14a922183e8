"""What version 0.1.0 answered and wrote stays valid: answers, models, checkpoints, prepared corpora."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from treeformer import load_parser
from treeformer.inference import Classifier

RECORDED = Path(__file__).parent / "recorded"
ANSWERS = json.loads((RECORDED / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ANSWERS["parsed"])
def test_the_embedded_parsers_give_the_recorded_trees(language: str) -> None:
    recorded = ANSWERS["parsed"][language]
    with load_parser(language) as parser:
        trees = parser.parse_texts([row["text"] for row in recorded])
    assert [list(map(str, own)) for own in trees] == [row["trees"] for row in recorded]


def test_the_shipped_sentiment_model_gives_the_recorded_answers() -> None:
    recorded = ANSWERS["classified"]
    answers = Classifier.from_pretrained(device="cpu")([row["text"] for row in recorded])
    for row, answer in zip(recorded, answers, strict=True):
        assert (str(answer.tree), answer.label) == (row["tree"], row["label"])
        assert answer.probabilities == pytest.approx(row["probabilities"], abs=2e-5)
        for line, phrase in zip(row["phrases"], answer.phrases, strict=True):
            span, label_and_score = line.split(" ", 1)
            label, score = label_and_score.rsplit(" ", 1)
            assert ("{}-{}".format(*phrase.span), phrase.label) == (span, label)
            assert max(phrase.probabilities) == pytest.approx(float(score), abs=1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What 0.1.0 wrote: ``tiny.yaml``, ``prepared``, ``run`` (finished) and ``half`` (10 of 40 updates)."""
    place = tmp_path_factory.mktemp("recorded")
    with tarfile.open(RECORDED / "version-0.1.0.tar.xz") as archive:
        archive.extractall(place, filter="data")
    return place


def test_a_prepared_corpus_of_0_1_0_is_read(folder: Path) -> None:
    run, prepared = str(folder / "run"), str(folder / "prepared")
    done = treeformer("evaluate", run, "--split", "test", "--data", prepared, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "20 of 20" in done.stdout


def test_a_model_of_0_1_0_answers(folder: Path) -> None:
    run = str(folder / "run")
    done = treeformer("classify", "--model", run, "--json", "--device", "cpu", "The cast is fine.")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["label"] == "good"
    assert answer["probabilities"] == pytest.approx([0.013594, 0.986406], abs=1e-4)


def test_a_checkpoint_of_0_1_0_is_resumed_to_the_same_weights(folder: Path) -> None:
    half = folder / "half"
    recipe, prepared = str(folder / "tiny.yaml"), str(folder / "prepared")
    done = treeformer("train", recipe, "--data", prepared, "--output", str(half), "--device", "cpu")
    assert done.returncode == 0, done.stderr
    facts = json.loads((half / "run.json").read_text(encoding="utf-8"))
    assert (facts["finished"], facts["updates"], facts["best_step"]) == (True, 40, 10)
    weights = [(run / "model.safetensors").read_bytes() for run in (half, folder / "run")]
    assert weights[0] == weights[1]
