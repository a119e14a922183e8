"""Pages and plots are written from JSON alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treeformer.analysis.experiments import experiment
from treeformer.analysis.page import page
from treeformer.analysis.plots import plot
from treeformer.analysis.reproduction import own_page
from treeformer.analysis.results import Results, load_results
from treeformer.analysis.tables import markdown

RESULTS = Path(__file__).parents[2] / "results"
NAMES = ("classification", "translation", "ablations", "controls", "data-size", "attention-share", "speed")

VERSIONS = {"torch": "2.11.0", "transformers": "5.17.0"}


def run(seed: int, score: float, *, bleu: bool = False) -> dict[str, Any]:
    accuracy = {"percent": score, "right": 1, "count": 2, "interval": [score - 2, score + 2]}
    of_tokens = {"score": score, "signature": "nrefs:1|case:mixed|tok:none"}
    plain = {"score": score - 1, "signature": "nrefs:1|case:mixed|tok:13a"}
    scores = {"BLEU": plain, "BLEU of tokens": of_tokens} if bleu else {"accuracy": accuracy}
    return {
        "seed": seed,
        "parameters": 551_621,
        "seconds": 90.0,
        "peak_memory": 2**30,
        "device": "cuda (NVIDIA H200)",
        "versions": VERSIONS,
        "tests": {"test": {"scores": scores, "by_group": {}}},
    }


def row(task: str, label: str, system: str, runs: list[dict[str, Any]], seeds: int = 3) -> dict[str, Any]:
    there = {own["seed"] for own in runs}
    missing = [{"seed": s, "state": "missing", "reason": ""} for s in range(1, seeds + 1) if s not in there]
    return {
        "task": task,
        "label": label,
        "system": system,
        "slug": system,
        "rival": "Tree Transformer",
        "seeds": list(range(1, seeds + 1)),
        "recipe": {"training": {"share": None}},
        "runs": runs,
        "missing": missing,
    }


def compared(task: str, label: str, **more: Any) -> dict[str, Any]:
    entry = {"task": task, "label": label, "rival": "Tree Transformer", "metric": "accuracy"}
    return {**entry, "difference": 3.5, "low": 1.0, "high": 6.0, "p": 0.0009, **more}


def classification(**changes: Any) -> Results:
    return Results.model_validate(content() | changes)


def content() -> dict[str, Any]:
    tree = row("sst5", "Tree Transformer", "tree-transformer", [run(s, 46.0 + s) for s in (1, 2, 3)])
    plain = row("sst5", "Transformer, sentences", "transformer", [run(1, 40.0)])
    absent = row("imdb", "BiLSTM", "bilstm", [])
    return {
        "name": "classification",
        "title": "Classification",
        "quick": False,
        "notes": ["A note."],
        "rows": [plain, tree, absent],
        "comparisons": [compared("sst5", "Transformer, sentences")],
    }


def test_scores_stand_beside_the_papers_with_spread_seeds_significance_and_costs() -> None:
    text = markdown(classification())
    lines = text.splitlines()
    assert "| Tree Transformer | 48.0 ± 1.0 | 3 seeds | 47.4 | – | – | 551,621 | 1.5 | 1.00 GiB |" in lines
    assert (
        "| Transformer, sentences | 40.0 | 1 of 3 seeds | 37.6 | +3.5 (+1.0 to +6.0) | < 0.001 "
        "| 551,621 | 1.5 | 1.00 GiB |"
    ) in lines
    assert "- SST-5, Transformer, sentences, seeds 2, 3: not run" in lines
    assert "- IMDB, BiLSTM, seeds 1, 2, 3: not run" in lines
    assert "Device: cuda (NVIDIA H200), torch 2.11.0, transformers 5.17.0." in lines
    assert "A note." in lines


def recursion() -> Results:
    """Two systems on ListOps: one falls with depth, the other does not."""
    rows, composed = [], "Tree Transformer, composed nodes"
    for label, system, test, deep in (
        ("Transformer", "transformer", 40.0, 30.0),
        (composed, "tree-transformer", 99.0, 95.0),
    ):
        runs = [run(seed, test) for seed in (1, 2, 3)]
        for one in runs:
            scores = {"accuracy": {"percent": deep, "right": 1, "count": 2}}
            by_group = {str(depth): {"percent": deep - depth, "examples": 1000} for depth in range(6, 11)}
            one["tests"]["test"]["by_group"] = {"5": {"percent": test, "examples": 1000}}
            one["tests"]["deep"] = {"scores": scores, "by_group": by_group}
        rows.append(row("listops", label, system, runs) | {"rival": composed})
    comparisons = [
        compared("listops", "Transformer") | {"rival": composed, "split": "test"},
        compared("listops", "Transformer") | {"rival": composed, "split": "deep", "difference": 65.0},
    ]
    return classification(name="recursion", title="Recursion", rows=rows, comparisons=comparisons)


def test_recursion_has_both_splits_their_significance_and_accuracy_by_depth() -> None:
    lines = markdown(recursion()).splitlines()
    assert lines[2:4] == [
        "- ListOps: highest accuracy 99.0 ± 0.0 (Tree Transformer, composed nodes).",
        "- ListOps, deep: highest accuracy 95.0 ± 0.0 (Tree Transformer, composed nodes).",
    ]
    assert any(
        line.startswith("|  | accuracy | seeds | Tree Transformer, composed nodes ahead") for line in lines
    )
    assert "| accuracy | deep | Tree Transformer, composed nodes ahead by | p |" in lines
    assert "| Transformer | 30.0 ± 0.0 | +65.0 (+1.0 to +6.0) | < 0.001 |" in lines
    assert any(line.startswith("| Transformer | 40.0 ± 0.0 | 3 seeds | +3.5 (+1.0") for line in lines)
    depths = " | ".join(f"{depth} (1,000)" for depth in range(5, 11))
    assert f"| accuracy by depth | {depths} |" in lines
    assert any(line.startswith("| Tree Transformer, composed nodes | 99.0 ± 0.0 | 89.0") for line in lines)


def test_recursion_without_deeper_lists_has_no_finding_about_them() -> None:
    """The quick version evaluates the main split alone."""
    results = recursion()
    for one in results.rows:
        for training in one.runs:
            del training.tests["deep"]
    results.comparisons = [one for one in results.comparisons if one.split == "test"]
    lines = markdown(results).splitlines()
    assert [line for line in lines if line.startswith("- ")] == [
        "- ListOps: highest accuracy 99.0 ± 0.0 (Tree Transformer, composed nodes)."
    ]
    assert not any("deep" in line for line in lines)


def test_tasks_that_have_a_score_stand_beside_each_other_and_another_task_of_the_paper_is_named() -> None:
    assert "| SST-5 |" not in markdown(classification())
    agreement = row("agreement", "Tree Transformer", "tree-transformer", [run(1, 90.0)])
    lines = markdown(classification(rows=[*content()["rows"], agreement])).splitlines()
    assert "|  | SST-5 | paper | SVA-AMALGUM | paper (SVA of Linzen et al.) |" in lines
    assert "| Transformer, sentences | 40.0 (1 of 3 seeds) | 37.6 |  |  |" in lines
    assert "| Tree Transformer | 48.0 ± 1.0 | 47.4 | 90.0 (1 of 3 seeds) | 98.0 |" in lines


def test_translation_has_both_scores_and_their_signatures() -> None:
    runs = [run(1, 38.123, bleu=True)]
    rows = [row("multi30k-en-de", "Tree Transformer", "tree-transformer", runs, seeds=1)]
    text = markdown(classification(name="translation", rows=rows, comparisons=[]))
    assert "| Tree Transformer | 38.12 | 37.12 | 1 seed | 29.47 | – | – | 551,621 |" in text
    assert "BLEU of tokens: `nrefs:1|case:mixed|tok:none`" in text


@pytest.mark.parametrize("name", ["classification", "data-size", "recursion"])
def test_a_picture_is_drawn_and_the_same_each_time(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    results = recursion() if name == "recursion" else classification(name=name)
    for copy in ("a.svg", "b.svg"):
        plot(results, tmp_path / copy)
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_page_has_every_table_and_what_was_not_run_with_its_command_and_minutes(tmp_path: Path) -> None:
    (tmp_path / "classification.json").write_text(json.dumps(content()))
    (tmp_path / "quick-ablations.json").write_text(json.dumps(content()))
    (tmp_path / "classification.svg").write_text("<svg/>")
    (tmp_path / "classification.remarks.md").write_text("Less than the paper: **one** layer.\n")
    text = page(tmp_path)
    assert "\n### Remarks\n\nLess than the paper: **one** layer.\n" in text
    assert "\n## Classification\n" in text
    assert "\n### SST-5\n" in text
    assert "![Classification](../results/classification.svg)" in text
    assert "### Not run" not in text
    lines = {tuple(line.split(" | ")[:2]): line for line in text.splitlines()}
    missing = lines["| classification", "SST-5"]
    assert "BiLSTM, every phrase; Tree-LSTM; Composed Tree Transformer | 17 | about 26 |" in missing
    assert "Transformer, every phrase (seeds 2, 3);" in missing
    assert missing.endswith("| `treeformer reproduce classification --data DATA --only sst5` |")
    assert "; Tree Transformer, 10 %;" in lines["| data-size", "SST-5"]
    assert "| speed |  | all |  | 1–10 | `treeformer reproduce speed --data DATA` |" in text
    assert "not known" in text


def test_other_json_is_not_taken_for_results(tmp_path: Path) -> None:
    (tmp_path / "speed.json").write_text("[]")
    with pytest.raises(ValueError, match="not written by treeformer reproduce"):
        load_results(tmp_path / "speed.json")


@pytest.mark.parametrize("name", [*NAMES, "parameters"])
def test_results_are_read_and_written_without_a_change_and_pages_are_up_to_date(
    tmp_path: Path, name: str
) -> None:
    path = RESULTS / f"{name}.json"
    results = load_results(path)
    assert results is not None
    results.save(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_bytes() == path.read_bytes()
    assert path.with_suffix(".md").read_text(encoding="utf-8") == own_page(results, path), (
        "run treeformer reproduce page"
    )
    assert tuple(results.notes) == experiment(name).notes


def test_the_page_of_all_results_is_up_to_date() -> None:
    written = (RESULTS.parent / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == page(RESULTS), "run treeformer reproduce page"


def test_the_finding_comes_first() -> None:
    finding = "- SST-5: highest accuracy 48.0 ± 1.0 (Tree Transformer)."
    assert markdown(classification()).splitlines()[2] == finding


def test_a_quick_version_has_no_significance_of_scores_that_mean_nothing() -> None:
    for results in (classification(), recursion()):
        page = markdown(results.model_copy(update={"quick": True}))
        assert "| p |" not in page
        assert "ahead by" not in page
        assert "0.001" not in page
        assert "0.001" in markdown(results)


def test_a_model_of_whole_texts_has_no_score_on_phrases() -> None:
    def with_phrases(label: str, targets: str) -> dict[str, Any]:
        result = run(1, 40.0)
        result["tests"]["test"]["scores"]["words and phrases"] = {"percent": 71.5, "right": 1, "count": 2}
        return row("sst5", label, "linear", [result]) | {"recipe": {"training": {"targets": targets}}}

    rows = [with_phrases("taught", "all"), with_phrases("not taught", "text")]
    lines = markdown(classification(rows=rows, comparisons=[])).splitlines()
    (taught,) = (line for line in lines if line.startswith("| taught"))
    (untaught,) = (line for line in lines if line.startswith("| not taught"))
    assert "71.5" in taught
    assert "71.5" not in untaught
