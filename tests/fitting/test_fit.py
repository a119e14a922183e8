"""``fit``: one call from a table to a model and a report; it resumes, and does nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import treeformer
from tests.analysis.toys import RecordedLines
from tests.encoders import tiny
from treeformer import Classifier, load_parser
from treeformer.cli.commands import app
from treeformer.encoders.catalogue import ENCODERS
from treeformer.encoders.installation import install
from treeformer.evaluation.predictions import load_predictions, predictions_path
from treeformer.evaluation.significance import compare
from treeformer.fitting import fitting
from treeformer.fitting.fitting import Fit, fit
from treeformer.fitting.report import MAJORITY, MODEL, TF_IDF, WITHOUT_TREES

_SIZES = "{d_model: 16}"
SMALL = f"systems.tree-lstm.sizes={_SIZES}"
SETTINGS = ["training.epochs=2", SMALL]


@pytest.fixture
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of 40 reviews in an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path / "none"))
    lines = [
        f"The {thing} is {word} {'and bold' if more else 'today'}.,{label}\n"
        for thing in ("plot", "cast", "end", "story", "film", "music", "song", "light", "pace", "crew")
        for word, label in (("dull", "bad"), ("fine", "good"))
        for more in (True, False)
    ]
    path = Path("reviews.csv")
    path.write_text("review,stars\n" + "".join(lines), encoding="utf-8")
    return path


def fitted(data: object, **options: object) -> tuple[Fit, list[str]]:
    """A small fit and its log."""
    progress = RecordedLines()
    settings = {"overrides": SETTINGS, "device": "cpu", "progress": progress} | options
    return fit(data, **settings), progress.lines  # type: ignore[arg-type]


def test_one_call_leaves_a_model_and_a_report(reviews: Path) -> None:
    result, log = fitted(reviews)
    assert result.folder == Path("reviews-fit")
    assert list(result.scores) == [MODEL, TF_IDF, MAJORITY]
    assert any(line.startswith("the tree model: It has no pretrained encoder") for line in log)
    assert all(one.accuracy.count == 8 for one in result.scores.values())
    assert result.scores[TF_IDF].accuracy.percent == 100
    assert result.scores[MAJORITY].accuracy.percent == 50
    model, other = result.scores[MODEL].accuracy.percent, result.scores[TF_IDF]
    assert other.against is not None
    assert other.against.difference == pytest.approx(model - 100)
    (answer,) = Classifier.from_pretrained(result.run, device="cpu")(["The plot is dull."])
    assert answer.label in ("bad", "good")
    for report in (result.report.read_text("utf-8"), (result.folder / "report.md").read_text("utf-8")):
        for part in (
            "95 % interval",
            "macro F1",
            "Confusion matrix",
            "Most confident mistakes",
            TF_IDF,
            MAJORITY,
        ):
            assert part in report
        assert "treeformer classify --model reviews-fit/run" in report
    scores = json.loads((result.folder / "fit.json").read_text("utf-8"))
    assert scores["finished"] is True
    assert scores["scores"][MODEL]["accuracy"]["percent"] == model


def test_an_installed_encoder_is_used_and_compared_with_itself_without_trees(
    reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fitting._ENCODERS, "en", ("none", "tiny"))
    monkeypatch.setitem(ENCODERS, "tiny", tiny.encoder((), tiny.checksums(Path("sums"))))
    tiny.hub_files(Path("hub"))
    install("tiny", source=Path("hub"))
    result, log = fitted(reviews)
    assert list(result.scores) == [MODEL, WITHOUT_TREES, TF_IDF, MAJORITY]
    assert not any("no pretrained encoder" in line for line in log)
    plain = result.folder / "baselines" / "without-trees"
    for run, system in ((result.run, "tree-lstm"), (plain, "linear")):
        recipe = json.loads((run / "run.json").read_text("utf-8"))["recipe"]
        assert (recipe["model"], recipe["encoder"]["source"]) == (system, "tiny")
    assert result.scores[WITHOUT_TREES].against == compare(result.run, plain)["accuracy"]
    assert WITHOUT_TREES in result.report.read_text("utf-8")
    scratch, _ = fitted(reviews, encoder=None, output="scratch")
    assert list(scratch.scores) == [MODEL, TF_IDF, MAJORITY]


@pytest.mark.parametrize(
    ("language", "there", "chosen"),
    [
        ("en", {"bert-multilingual", "minilm"}, "minilm"),
        ("en", {"bert-multilingual"}, "bert-multilingual"),
        ("de", {"bert-multilingual", "bge-small"}, "bert-multilingual"),
        ("fr", {"bge-small"}, None),
    ],
)
def test_the_encoder_suits_the_language(
    monkeypatch: pytest.MonkeyPatch, language: str, there: set[str], chosen: str | None
) -> None:
    monkeypatch.setattr(fitting, "installed", lambda: dict.fromkeys(there))
    assert fitting._installed_encoder(language) == chosen


def test_german_is_fitted_over_an_encoder_and_the_model_asked_in_french(
    reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fitting._ENCODERS, "de", ("tiny",))
    monkeypatch.setitem(ENCODERS, "tiny", tiny.encoder((), tiny.checksums(Path("sums"))))
    tiny.hub_files(Path("hub"))
    install("tiny", source=Path("hub"))
    rows = [
        {"text": f"{thing} ist {word}.", "label": word}
        for thing in ("Der Plan", "Das Bild", "Die Zeit", "Ein Lied", "Der Film", "Das Ende")
        for word in ("schlecht", "sehr gut", "gut", "nicht schlecht")
    ]
    result, _ = fitted(rows, language="de")
    recipe = json.loads((result.run / "run.json").read_text("utf-8"))["recipe"]
    assert (recipe["data"]["task"]["language"], recipe["encoder"]["source"]) == ("de", "tiny")
    for language, text in (("de", "Am Ende ist's gut."), ("fr", "Il n'a pas vu l'homme du train.")):
        [[parsed]] = load_parser(language).parse_texts([text])
        classifier = Classifier.from_pretrained(result.run, language=language, device="cpu")
        (answer,), (expected,) = classifier([text]), classifier([parsed])
        assert str(answer.tree) == str(expected.tree)
        assert answer.probabilities == expected.probabilities


def test_the_report_names_the_rows_of_the_mistakes(reviews: Path) -> None:
    result, _ = fitted(reviews)
    predictions = load_predictions(predictions_path(result.run, "test"))
    lines = reviews.read_text("utf-8").splitlines()
    test = [
        json.loads(line) for line in (result.folder / "data" / "test.jsonl").read_text("utf-8").splitlines()
    ]
    for row, prediction in zip(test, predictions, strict=True):
        assert lines[int(row["location"].split(":")[1]) - 1] == f"{row['text']},{row['label']}"
        assert len(prediction.source.split()) == len(row["text"].split()) + 1  # the full stop
        assert prediction.label == row["label"]  # type: ignore[attr-defined]
    wrong = [row for row, one in zip(test, predictions, strict=True) if not one.right]  # type: ignore[attr-defined]
    report = (result.folder / "report.md").read_text("utf-8")
    assert [row for row in test if f"| {row['location']} |" in report] == wrong


def test_a_finished_fit_is_not_repeated_and_other_data_are_refused(reviews: Path) -> None:
    result, _ = fitted(reviews)
    before = {path: path.stat().st_mtime_ns for path in result.folder.rglob("*") if path.is_file()}
    again, log = fitted(reviews)
    assert log[-1] == "reviews-fit: this fit is finished, with the same data and settings"
    assert again == result
    assert {path: path.stat().st_mtime_ns for path in result.folder.rglob("*") if path.is_file()} == before
    with pytest.raises(ValueError, match="reviews-fit: a fit with other settings; choose another folder"):
        fitted(reviews, overrides=["training.epochs=1", SMALL])
    reviews.write_text(reviews.read_text("utf-8").replace("pace", "style"), encoding="utf-8")
    with pytest.raises(ValueError, match="reviews-fit: a fit of other rows; choose another folder"):
        fitted(reviews)
    Path("notes").mkdir()
    Path("notes/a.txt").touch()
    with pytest.raises(ValueError, match="notes: contains other files"):
        fitted(reviews, output="notes")


def test_an_interrupted_fit_resumes(reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    whole, _ = fitted(reviews, output="whole")
    for step in ("prepare", "train", "evaluate"):
        with monkeypatch.context() as patch:
            patch.setattr(fitting, step, interrupted)
            with pytest.raises(KeyboardInterrupt):
                fitted(reviews, output="parts")
        assert not Path("parts/report.html").exists()
    model = Path("parts/run/model.safetensors").stat().st_mtime_ns
    parts, _ = fitted(reviews, output="parts")
    assert Path("parts/run/model.safetensors").stat().st_mtime_ns == model
    assert parts.scores == whole.scores


def test_ctrl_c_stops_the_command_and_the_same_command_resumes(reviews: Path) -> None:
    changes = [f"--set={change}" for change in ("training.epochs=2000", "training.patience=2000", SMALL)]
    command = [sys.executable, "-m", "treeformer", "fit", str(reviews), "--device", "cpu", *changes]
    environment = {**os.environ, "PYTHONPATH": str(Path(treeformer.__file__).parents[1])}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("update 20:"):
                process.send_signal(signal.SIGINT)
                break
        errors = process.stderr.read()
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "treeformer: stopped; the same command resumes"
    facts = json.loads(Path("reviews-fit/run/run.json").read_text("utf-8"))
    assert not facts.get("finished")
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stderr is not None
        resumed = next(line for line in process.stderr if "resumes after update" in line)
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert int(resumed.split()[-1]) >= 20


def test_the_command_prints_the_scores_and_how_to_ask(reviews: Path) -> None:
    options = [part for change in SETTINGS for part in ("--set", change)]
    result = CliRunner().invoke(
        app, ["fit", str(reviews), "--device", "cpu", *options], catch_exceptions=False
    )
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("The tree model labels ")
    assert lines[-2:] == [
        "report: reviews-fit/report.html",
        'ask:    treeformer classify --model reviews-fit/run "Your text."',
    ]
    reviews.write_text(reviews.read_text("utf-8") + ",good\nA text.,\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["fit", str(reviews), "--output", "other"])
    assert result.stderr.splitlines()[-2:] == [
        "reviews.csv:42: column review: expected a text, found nothing",
        "reviews.csv:43: column stars: expected a label, found nothing",
    ]
    assert str(result.exception).startswith("reviews.csv: 2 of 42 rows cannot be used")
    assert not Path("other").exists()


def test_python_fits_rows_in_memory() -> None:
    assert treeformer.fit is fit
