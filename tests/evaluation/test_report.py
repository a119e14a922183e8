"""A run on a split: scores of its answers, which are saved."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import sacrebleu
import torch

from tests.data.corpora import AGREEMENT, PREFIXES, agreement_task, prepared, recipe, write
from tests.inference.runs import trained
from tests.training.corpora import SIZES, TRAINING, sentiment
from treeformer.data.corpus import PreparedCorpus
from treeformer.evaluation.accuracy import right_classes, right_halves
from treeformer.evaluation.report import evaluate
from treeformer.evaluation.significance import compare
from treeformer.inference.classifier import Classifier
from treeformer.inference.translator import Translator


def lines(run: Path, split: str = "dev") -> list[dict[str, object]]:
    return [json.loads(line) for line in (run / "predictions" / f"{split}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_accuracy_is_that_of_the_answers_which_are_saved(runs: Path, system: str) -> None:
    run = runs / f"sentiment-{system}"
    report = evaluate(run, "dev", device="cpu")
    split = PreparedCorpus.open(runs / "sentiment" / "prepared")["dev"]
    logits = torch.stack(
        [scored.root for scored in Classifier.from_pretrained(run, device="cpu").logits(split)]
    )
    labels = torch.tensor(split.labels)
    right = right_classes(logits, labels)
    assert report.scores["accuracy"].right == int(right.sum())
    assert [line["right"] for line in lines(run)] == right.tolist()
    sided = labels != 2
    halves = report.scores["sentences, positive or negative"]
    assert (halves.right, halves.count) == (
        int((right_halves(logits, labels) & sided).sum()),
        int(sided.sum()),
    )
    assert report.scores["words and phrases"].count == len(split.phrases())
    assert report.confusion is not None
    assert sum(counts[number] for number, counts in enumerate(report.confusion.matrix)) == int(right.sum())
    assert [sum(counts) for counts in report.confusion.matrix] == labels.bincount(minlength=5).tolist()
    saved = json.loads((run / "predictions" / "dev.scores.json").read_text())
    assert saved["scores"]["accuracy"]["right"] == int(right.sum())
    assert saved["confusion"]["macro_f1"] == report.confusion.macro_f1
    assert {"seconds", "device", "versions", "run"} <= saved.keys()
    assert sum(part["examples"] for part in saved["by_length"].values()) == len(split)


def test_translations_are_scored_and_saved(runs: Path) -> None:
    run = runs / "translation-tree-transformer"
    report = evaluate(run, "dev", device="cpu", beams=2, length_penalty=1.0)
    answers = lines(run)
    texts, references = [[str(line[key]) for line in answers] for key in ("text", "reference")]
    assert report.scores["BLEU"].score == sacrebleu.corpus_bleu(texts, [references]).score
    assert report.facts["decoding"] == {"beams": 2, "length_penalty": 1.0}
    translator = Translator.from_pretrained(run, device="cpu")
    split = PreparedCorpus.open(runs / "translation" / "prepared")["dev"]
    (first,), *_ = translator.decode(split, beams=2, length_penalty=1.0)
    assert answers[0]["tokens"] == " ".join(translator.processor.words(first.ids))
    assert answers[0]["reference"] == split.texts("target_text")[0]


def test_two_runs_are_compared_by_what_they_saved(runs: Path) -> None:
    tree, plain = (runs / f"sentiment-{system}" for system in ("tree-transformer", "transformer"))
    reports = [evaluate(run, "dev", device="cpu") for run in (tree, plain)]
    comparison = compare(tree, plain, "dev")["accuracy"]
    assert (comparison.score, comparison.other) == tuple(
        report.scores["accuracy"].percent for report in reports
    )
    evaluate(runs / "translation-transformer", "dev", device="cpu")
    evaluate(runs / "translation-tree-transformer", "dev", device="cpu")
    with pytest.raises(ValueError, match="of another test set"):
        compare(tree, runs / "translation-transformer", "dev")
    both = compare(runs / "translation-tree-transformer", runs / "translation-transformer", "dev")
    assert list(both) == ["BLEU", "BLEU of tokens"]
    with pytest.raises(ValueError, match="no predictions there; first run treeformer evaluate"):
        compare(tree, runs / "nothing", "dev")


def test_several_seeds_are_compared_by_shares_of_right_runs_and_pair_by_pair(runs: Path) -> None:
    systems = ("tree-transformer", "transformer")
    for kind in ("sentiment", "translation"):
        tree, plain = (runs / f"{kind}-{system}" for system in systems)
        for run in (tree, plain):
            evaluate(run, "dev", device="cpu")
        alone = compare(tree, plain, "dev")
        assert compare([tree, tree], [plain, plain], "dev") == alone
        mixed = compare([tree, plain], [plain, tree], "dev")
        for name, one in alone.items():
            assert mixed[name].score == pytest.approx((one.score + one.other) / 2)
            assert mixed[name].difference == pytest.approx(0)
    with pytest.raises(ValueError, match="expected as many runs as 2, got 1"):
        compare([tree, tree], plain, "dev")


def test_a_report_prints_its_scores_with_intervals_or_signatures(runs: Path) -> None:
    printed = str(evaluate(runs / "sentiment-transformer", "dev", device="cpu")).splitlines()
    assert printed[0].startswith("dev: 20 examples, ")
    assert re.fullmatch(
        r"accuracy +[\d.]+  \d+ of 20, 95 %: [\d.]+ to [\d.]+",
        printed[1],
    )
    assert "|tok:13a|" in str(evaluate(runs / "translation-transformer", "dev", device="cpu"))


def test_two_classes_out_of_five_are_scored_by_halves(tmp_path: Path) -> None:
    five = sentiment(tmp_path)
    content = {**five.manifest.recipe, "task": {**five.manifest.recipe["task"], "classes": 2}}
    corpus = prepared(recipe(**content), tmp_path / "files", tmp_path / "two")
    run = trained(corpus, tmp_path / "run", "tree-transformer", "data.task.classes=2")
    report = evaluate(run, "dev", device="cpu")
    assert list(report.scores) == ["accuracy", "words and phrases"]
    split = corpus["dev"]
    scored = Classifier.from_pretrained(run, device="cpu").logits(split)
    right = right_halves(torch.stack([own.root for own in scored]), torch.tensor(split.labels))
    assert report.scores["accuracy"].right == int(right.sum())


def test_groups_are_scored_apart(tmp_path: Path) -> None:
    write(tmp_path / "files", train__jsonl=AGREEMENT, train__prefix=PREFIXES)
    corpus = prepared(recipe(agreement_task()), tmp_path / "files", tmp_path / "prepared")
    content = {
        "data": corpus.manifest.recipe,
        "model": "transformer",
        "systems": {"transformer": {"sizes": SIZES}},
        "training": TRAINING,
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(content))
    report = evaluate(trained(corpus, tmp_path / "run", "transformer"), "train", device="cpu")
    assert {group: count for group, (count, _) in report.by_group.items()} == {"0": 2, "1": 2}
    assert list(report.scores) == ["accuracy"]


def test_the_corpus_must_be_there_and_fit(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs / "sentiment-transformer", run)
    with pytest.raises(ValueError, match="split: expected one of dev, train, got 'test'"):
        evaluate(run, "test", device="cpu")
    with pytest.raises(ValueError, match="prepared for another model"):
        evaluate(run, "dev", data=runs / "translation" / "prepared", device="cpu")
    facts = json.loads((run / "run.json").read_text())
    (run / "checksums.json").unlink()  # they would refuse the changed run.json
    (run / "run.json").write_text(json.dumps({**facts, "prepared": str(tmp_path / "gone")}))
    with pytest.raises(ValueError, match="gone, which is no folder; name it with --data"):
        evaluate(run, "dev", device="cpu")
    (run / "run.json").write_text(json.dumps({**facts, "prepared": 5}))
    with pytest.raises(ValueError, match="was 5, which is no folder; name it with --data"):
        evaluate(run, "dev", device="cpu")
    assert evaluate(run, "dev", data=runs / "sentiment" / "prepared", device="cpu").facts["examples"] == 20
