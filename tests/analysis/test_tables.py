"""Pages and pictures are made of JSON alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from treeformer.analysis.page import page
from treeformer.analysis.plots import plot
from treeformer.analysis.results import load_found
from treeformer.analysis.tables import markdown

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


def classification() -> dict[str, Any]:
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


def test_tasks_that_have_a_score_stand_beside_each_other_and_another_task_of_the_paper_is_named() -> None:
    found = classification()
    assert "| SST-5 |" not in markdown(found)
    found["rows"].append(row("agreement", "Tree Transformer", "tree-transformer", [run(1, 90.0)]))
    lines = markdown(found).splitlines()
    assert "|  | SST-5 | paper | SVA-AMALGUM | paper (SVA of Linzen et al.) |" in lines
    assert "| Transformer, sentences | 40.0 (1 of 3 seeds) | 37.6 |  |  |" in lines
    assert "| Tree Transformer | 48.0 ± 1.0 | 47.4 | 90.0 (1 of 3 seeds) | 98.0 |" in lines


def test_translation_has_both_scores_and_their_signatures() -> None:
    runs = [run(1, 38.123, bleu=True)]
    found = classification() | {
        "name": "translation",
        "rows": [row("multi30k-en-de", "Tree Transformer", "tree-transformer", runs, seeds=1)],
        "comparisons": [],
    }
    text = markdown(found)
    assert "| Tree Transformer | 38.12 | 37.12 | 1 seed | 29.47 | – | – | 551,621 |" in text
    assert "BLEU of tokens: `nrefs:1|case:mixed|tok:none`" in text


@pytest.mark.parametrize("name", ["classification", "data-size"])
def test_a_picture_is_drawn_and_the_same_each_time(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    found = classification() | {"name": name}
    for copy in ("a.svg", "b.svg"):
        plot(found, tmp_path / copy)
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_page_has_every_table_and_what_was_not_run_with_its_command_and_minutes(tmp_path: Path) -> None:
    (tmp_path / "classification.json").write_text(json.dumps(classification()))
    (tmp_path / "quick-ablations.json").write_text(json.dumps(classification()))
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
    assert "BiLSTM, every phrase; Tree-LSTM | 14 | about 21 |" in missing
    assert "Transformer, every phrase (seeds 2, 3);" in missing
    assert missing.endswith("| `treeformer reproduce classification --data DATA --only sst5` |")
    assert "; Tree Transformer, 10 %;" in lines["| data-size", "SST-5"]
    assert "| speed |  | all |  | 1–10 | `treeformer reproduce speed --data DATA` |" in text
    assert "not known" in text


def test_other_json_is_not_taken_for_results(tmp_path: Path) -> None:
    (tmp_path / "speed.json").write_text("[]")
    with pytest.raises(ValueError, match="not written by treeformer reproduce"):
        load_found(tmp_path / "speed.json")
