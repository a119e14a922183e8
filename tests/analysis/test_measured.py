"""Speed and parameters: measured, not trained for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.analysis.costs import SYSTEMS, Settings, count_parameters, cut, measure_speed, sentences_of
from treeformer.analysis.plots import plot
from treeformer.analysis.reproduction import Selection, reproduce
from treeformer.analysis.results import Parameters, Results, Speed
from treeformer.analysis.runner import Runner
from treeformer.analysis.tables import markdown
from treeformer.analysis.workspace import Workspace
from treeformer.progress import Progress
from treeformer.trees import random_tree

RECIPES = Path(__file__).parents[2] / "recipes"


def results(name: str, measured: Speed | Parameters) -> Results:
    return Results(name=name, title=name, quick=False, notes=[], rows=[], measured=measured)


def test_every_system_and_length_is_timed_and_parsing_beside_it(tmp_path: Path) -> None:
    measured = measure_speed(Settings((4, 6), 2, 1), "cpu", None, Progress())
    assert {(row.length, row.work, row.system) for row in measured.rows} == {
        (length, work, system)
        for length in (4, 6)
        for work in ("training", "inference")
        for system in SYSTEMS
    }
    assert all(row.ratio == 1 for row in measured.rows if row.system == SYSTEMS[0])
    assert all(one.seconds_a_sentence > 0 for one in measured.parsing)
    other = measured.model_copy(update={"device": "cuda (another)"})
    both = results("speed", Speed(machines=[measured, other]))
    text = markdown(both)
    assert f"## {measured.device}\n" in text
    assert "## cuda (another)\n" in text
    assert "| words | Transformer, ms | Tree-LSTM, ms | Tree Transformer, ms |" in text
    assert text.count("### Cost of parsing") == 2
    pytest.importorskip("matplotlib")
    plot(both, tmp_path / "speed.svg")


def test_times_on_another_machine_stay_beside_those_on_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeformer.analysis.reproduction.QUICK", Settings((4,), 2, 1))
    work, runner = Workspace(tmp_path, RECIPES, device="cpu"), Runner(tmp_path, 1)
    reproduce("speed", Selection(quick=True), work, runner, tmp_path)
    path = tmp_path / "quick-speed.json"
    first = json.loads(path.read_text())
    (own,) = first["measured"]["machines"]
    first["measured"]["machines"].append({**own, "device": "cuda (another)"})
    path.write_text(json.dumps(first))
    reproduce("speed", Selection(quick=True), work, runner, tmp_path)
    again = json.loads(path.read_text())["measured"]["machines"]
    assert [one["device"] for one in again] == [own["device"], "cuda (another)"]


@given(st.integers(2, 30), st.integers(1, 30), st.integers(0, 5))
def test_a_tree_that_is_cut_has_the_given_number_of_words(size: int, length: int, seed: int) -> None:
    tree = random_tree([str(word) for word in range(size)], seed)
    short = cut(tree, min(length, size))
    assert short.words == tree.words[: min(length, size)]
    assert max(end for _, end in short.spans) == len(short.words)
    assert len(sentences_of([tree], length, 3)[2].words) == length


def test_base_models_have_the_papers_parameters_and_every_system_is_counted(tmp_path: Path) -> None:
    measured = count_parameters(RECIPES, tmp_path)
    assert measured.base == {"Transformer base": 61_747_200, "Tree Transformer base": 61_810_944}
    recipes = {row.recipe for row in measured.recipes}
    assert {"sst5", "wmt14-en-de", "multi30k-en-de"} <= recipes
    assert not any(name.startswith("parser-") for name in recipes)
    text = markdown(results("parameters", measured))
    assert "| Tree Transformer base | 61,810,944 | 61,810,944 |" in text
    (wmt,) = [row for row in measured.recipes if (row.recipe, row.system) == ("wmt14-en-de", "transformer")]
    assert wmt.parameters == wmt.without_tokens + 32_768 * 512
