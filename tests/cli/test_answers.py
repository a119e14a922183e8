"""``treeformer classify``, ``translate`` and ``evaluate``: answers on standard output, one line of error."""

from __future__ import annotations

import csv
import json
import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import refusal, treeformer
from treeformer.cli.commands import app
from treeformer.evaluation.report import evaluate
from treeformer.inference.classifier import Classifier
from treeformer.parsing import load_parser


def output(*arguments: object, text: str = "") -> str:
    """What a command prints, run in this process."""
    result = CliRunner().invoke(app, [*map(str, arguments)], input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_classify_prints_an_object_a_line_and_nothing_else(runs: Path) -> None:
    run = runs / "sentiment-tree-transformer"
    result = treeformer(
        "classify", "--model", str(run), "--device", "cpu", "--json", text="A good film.\n\nBad\n"
    )
    assert (result.returncode, result.stderr) == (0, "")
    first, empty, last = map(json.loads, result.stdout.splitlines())
    (found,) = Classifier.from_pretrained(run, device="cpu")(["A good film."])
    more = ("phrases_taught", "effects", "model")
    assert list(first) == ["text", "label", "classes", "probabilities", "tree", "phrases", "failures", *more]
    assert first["classes"] == list(Classifier.from_pretrained(run, device="cpu").classes) == empty["classes"]
    assert first["classes"][first["probabilities"].index(max(first["probabilities"]))] == first["label"]
    assert first["label"] == found.label
    assert first["tree"] == str(found.tree)
    assert list(first["phrases"][0]) == ["span", "label", "text", "probabilities"]
    assert [tuple(phrase["span"]) for phrase in first["phrases"]] == [one.span for one in found.phrases]
    empty.pop("classes")
    nothing: dict[str, object] = {"probabilities": [], "phrases": [], "failures": [], "effects": []}
    empty_answer = {"text": "", "label": None, "tree": None, "phrases_taught": True, "model": run.name}
    assert empty == {**empty_answer, **nothing}
    assert last["text"] == "Bad"


def test_classify_shows_the_text_its_label_and_its_tree(runs: Path, tmp_path: Path) -> None:
    model = ("--model", runs / "sentiment-tree-transformer", "--device", "cpu")
    text, label, *tree, _, marks, cut = output("classify", *model, "A good film.").splitlines()
    assert marks == (
        "After the label of a phrase, such as NP, stands its class: -- very negative, - negative, 0 neutral, "
        "+ positive, ++ very positive."
    )
    assert cut == "The model reads phrases of two parts: a longer NP is cut, and its pieces are @NP."
    assert text == "A good film."
    assert label.split(" (")[0] in Classifier.from_pretrained(model[1], device="cpu").classes
    assert "good" in tree[-1]
    brackets = "(NP (DT a) (JJ good) (NN film))"
    assert "@NP" in output("classify", *model, "--trees", brackets)
    output("classify", *model, "A good film.", "--svg", tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text().startswith("<svg")


def test_classify_explains_what_phrases_contribute(runs: Path, tmp_path: Path) -> None:
    model = ("--model", runs / "sentiment-tree-transformer", "--device", "cpu")
    (found,) = Classifier.from_pretrained(model[1], device="cpu").explain(["A good film."])
    printed = json.loads(output("classify", *model, "--explain", "--json", "A good film."))
    assert list(printed["effects"][0]) == ["span", "text", "towards", "log_odds", "without"]
    assert [one["towards"] for one in printed["effects"]] == [one.towards for one in found.effects]
    assert "without it: " in output("classify", *model, "--explain", "A good film.")
    output("classify", *model, "--explain", "A good film.", "--svg", tmp_path / "tree.svg")
    assert "without it: " in (tmp_path / "tree.svg").read_text()


def test_labels_of_phrases_that_were_not_taught_are_not_shown_as_if_they_were(
    runs: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs / "sentiment-tree-transformer", run)
    (run / "checksums.json").unlink()
    settings = json.loads((run / "processor.json").read_text())
    assert settings["phrases_taught"]
    (run / "processor.json").write_text(json.dumps({**settings, "phrases_taught": False}))
    command = ("classify", "--model", run, "--device", "cpu", "A good film.")
    assert "without it: " in output(*command)
    shown = output(*command, "--no-explain")
    assert "without it: " not in shown
    assert "taught labels of whole texts" in shown
    output(*command, "--no-explain", "--svg", tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text().count("; not taught</title>") > 3
    printed = json.loads(output(*command, "--json"))
    assert (printed["phrases_taught"], printed["effects"]) == (False, [])


def test_classify_leaves_out_trees_and_phrases(runs: Path) -> None:
    model = ("--model", runs / "sentiment-tree-transformer", "--device", "cpu")
    text = "A  good film.\n\nBad\n"
    whole = [json.loads(line) for line in output("classify", *model, "--json", text=text).splitlines()]
    short = [
        json.loads(line)
        for line in output("classify", *model, "--json", "--labels-only", text=text).splitlines()
    ]
    assert short == [
        {name: line[name] for name in ("text", "label", "classes", "probabilities", "model")}
        for line in whole
    ]
    first, empty, last = output("classify", *model, "--labels-only", text=text).splitlines()
    assert first == f"{whole[0]['label']}\t{max(whole[0]['probabilities']):.4f}\tA good film."
    assert empty == "\t\t"
    assert last.endswith("\tBad")


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])  # without torch, and with it
@pytest.mark.parametrize("language", ["de", "fr"])
def test_classify_reads_another_language_with_its_parser(
    runs: Path, tmp_path: Path, system: str, language: str
) -> None:
    model = ("--model", runs / f"sentiment-{system}", "--device", "cpu")
    text = {"de": "Am Morgen wird's schön.", "fr": "Il n'a pas vu l'homme du train."}[language]
    # SST's trees are binary, so those of the parser become binary, too
    [[parsed]] = load_parser(language).parse_texts([text])
    (expected,) = Classifier.from_pretrained(model[1], device="cpu")([parsed])
    (usual,) = map(json.loads, output("classify", *model, "--json", text).splitlines())
    line = output("classify", *model, "--language", language, "--json", text)
    answer = json.loads(line)
    assert answer["tree"] == str(expected.tree) != usual["tree"]
    assert answer["probabilities"] == pytest.approx(list(expected.probabilities), abs=1e-5)
    explained = json.loads(output("classify", *model, "--language", language, "--json", "--explain", text))
    assert explained["tree"] == answer["tree"]
    table, labelled = tmp_path / "table.csv", tmp_path / "labelled.csv"
    table.write_text(f'text\n"{text}"\n', encoding="utf-8")
    output("classify", *model, "--language", language, "--csv", table, "--output", labelled)
    (row,) = csv.DictReader(StringIO(labelled.read_text("utf-8")))
    assert (row["text"], row["predicted"]) == (text, answer["label"])


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_classify_adds_labels_to_a_table(runs: Path, tmp_path: Path, ending: str) -> None:
    run = runs / "sentiment-tree-transformer"
    rows = [
        {"id": "7", "review": "A good, long film."},
        {"id": "8", "review": ""},
        {"id": "9", "review": "Bad"},
    ]
    path = tmp_path / f"films{ending}"
    if ending == ".csv":
        path.write_text('id,review\n7,"A good, long film."\n8,\n9,Bad\n', encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ("classify", "--model", run, "--device", "cpu", "--csv", path)
    written = tmp_path / "labelled.csv"
    assert output(*command, "--output", written) == ""
    assert written.read_text("utf-8") == output(*command, "--text", "review")
    labelled = list(csv.DictReader(StringIO(written.read_text("utf-8"))))
    assert [{name: row[name] for name in ("id", "review")} for row in labelled] == rows
    answers = Classifier.from_pretrained(run, device="cpu")([rows[0]["review"], rows[2]["review"]])
    assert [row["predicted"] for row in labelled] == [answers[0].label, "", answers[1].label]
    assert float(labelled[0]["probability"]) == pytest.approx(max(answers[0].probabilities), abs=1e-4)


def test_a_table_that_cannot_be_classified_is_refused_before_a_model_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("text,predicted\nIt rains.,yes\n", encoding="utf-8")
    model = ("--model", tmp_path / "no model")
    assert "expected no column predicted" in refusal("classify", *model, "--csv", path)
    assert "expected a column review" in refusal("classify", *model, "--csv", path, "--text", "review")
    assert "TEXT: not together with --csv" in refusal("classify", *model, "It rains.", "--csv", path)
    assert "expected with --csv FILE" in refusal("classify", *model, "It rains.", "--output", path)


GRUMPY = """
from treeformer.parsing import Parser, register_parser
from treeformer.trees import right_branching

class Grumpy(Parser):
    language, name = "en", "grumpy 1"

    def parse_tokens(self, sentences):
        sentences = list(sentences)
        if any("bad" in words for words in sentences):
            raise ValueError("it says bad")
        return [right_branching(words) for words in sentences]

register_parser("grumpy", Grumpy)
"""


def test_what_the_parser_failed_on_is_reported(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grumpy.py").write_text(GRUMPY)
    text = "A good film.\nA bad film.\n"
    message = "treeformer: the parser failed (it says bad), read as a flat tree: A bad film .\n"
    for command, kind in (("classify", "sentiment"), ("translate", "translation")):
        run = tmp_path / kind
        shutil.copytree(runs / f"{kind}-tree-transformer", run)
        settings = json.loads((run / "processor.json").read_text())
        (run / "processor.json").write_text(json.dumps({**settings, "parser": "grumpy", "tokenized": False}))
        (run / "checksums.json").unlink()  # the model is changed on purpose
        arguments = ("--import", "grumpy", command, "--model", str(run), "--device", "cpu")
        result = treeformer(*arguments, "--json", text=text)
        assert (result.returncode, result.stderr) == (0, message)
        good, bad = map(json.loads, result.stdout.splitlines())
        assert good["failures"] == []
        assert bad["failures"] == [{"sentence": "A bad film .", "reason": "it says bad"}]
        if command == "classify":
            drawn = treeformer(*arguments, "A bad film.", "--svg", "-")
            assert (drawn.returncode, drawn.stderr) == (0, message)
            assert drawn.stdout.startswith("<svg")


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_translate_gives_a_line_for_each_line(runs: Path, system: str) -> None:
    command = ("translate", "--model", runs / f"translation-{system}", "--device", "cpu")
    text = "the good film\n\n  \na bad story . the film\ngreat"
    lines = output(*command, text=text).split("\n")
    assert len(lines) == 6
    assert (lines[1], lines[2], lines[5]) == ("", "", "")
    assert any(lines)
    objects = [json.loads(line) for line in output(*command, "--json", "--n-best", 2, text=text).splitlines()]
    assert [one["translations"][0]["text"] for one in objects] == lines[:5]
    assert {len(one["translations"]) for one in objects} == {2}
    scores = [[found["score"] for found in one["translations"]] for one in objects]
    assert all(best >= second for best, second in scores)
    tokens = output(*command, "--tokenized", "--trees", text="(NP (DT the) (NN film))\n\n").split("\n")
    assert len(tokens) == 3
    assert tokens[0]


def test_evaluate_prints_scores_and_compares(runs: Path) -> None:
    tree, plain = (runs / f"sentiment-{system}" for system in ("tree-transformer", "transformer"))
    printed = output("evaluate", plain, "--split", "dev", "--device", "cpu")
    assert "dev: 20 examples" in printed
    assert "95 %" in printed
    assert "1-10         20" in printed
    scores = evaluate(plain, "dev", device="cpu").confusion
    assert scores is not None
    for name, score in scores.scores.items():
        assert re.search(rf"^{name} +{score.count} .* {score.f1:.2f}$", printed, re.MULTILINE)
    assert re.search(rf"^macro F1 +{scores.macro_f1:.2f}$", printed, re.MULTILINE)
    for name, counts in zip(scores.classes, scores.matrix, strict=True):
        assert re.search(rf"^{name} +{' +'.join(map(str, counts))}$", printed, re.MULTILINE)
    assert "paired bootstrap" in output(
        "evaluate", tree, "--split", "dev", "--against", plain, "--device", "cpu"
    )
    run = runs / "translation-transformer"
    assert "|tok:13a|" in output("evaluate", run, "--split", "dev", "--device", "cpu")
    found = json.loads(output("evaluate", run, "--split", "dev", "--device", "cpu", "--json"))
    assert found["scores"]["BLEU"]["signature"].startswith("nrefs:1")


def test_what_is_wrong_is_said_in_one_line(runs: Path, tmp_path: Path) -> None:
    classifier, translator = runs / "sentiment-transformer", runs / "translation-transformer"
    for arguments, message in [
        (("classify", "x", "--model", tmp_path / "none"), "none: no such folder"),
        (("classify", "x", "--model", translator), "this model translates: see treeformer translate"),
        (("translate", "--model", classifier), "this model classifies: see treeformer classify"),
        (("classify", " ", "--model", classifier), "TEXT: expected words, got an empty text"),
        (("classify", "(S (NP", "--trees", "--model", classifier), "TEXT:1:1: expected 2 more ')'"),
        (("translate", "--model", translator, "--n-best", "2"), "--n-best: expected with --json"),
        (("evaluate", classifier, "--split", "no"), "split: expected one of dev, train, got 'no'"),
        (("evaluate", classifier, "--against", tmp_path), "no predictions for test; first run"),
        (
            ("classify", "x", "--language", "it", "--model", classifier),
            "language: expected one of en, de, fr",
        ),
        (("classify", "--csv", "x.csv", "--explain"), "--explain: not together with --csv"),
        (("classify", "x", "y", "--svg", "-", "--model", classifier), "--svg draws one tree, got 2"),
    ]:
        result = CliRunner().invoke(app, [*map(str, arguments)], input="(S")
        assert isinstance(result.exception, ValueError)  # which `main` prints, see below
        assert message in str(result.exception)
        assert "\n" not in str(result.exception)
    process = treeformer("translate", "--model", str(translator), "--trees", text="(NN ok)\n(S\n")
    assert process.returncode == 1
    assert process.stderr.startswith("treeformer: <stdin>:2:1: ")
    assert process.stderr.count("\n") == 1
