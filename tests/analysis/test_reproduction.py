"""A table end to end, on tiny data: trained, killed, resumed and written."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.analysis.forked import Fork
from tests.analysis.toys import (
    RecordedLines,
    parallel_data,
    parallel_recipe,
    sentiment_data,
    sentiment_recipe,
)
from treeformer.analysis import runner
from treeformer.analysis.page import page
from treeformer.analysis.reproduction import Selection, listing, remake, reproduce
from treeformer.analysis.runner import Runner
from treeformer.analysis.workspace import Workspace
from treeformer.cli.commands import app
from treeformer.data.preparation import prepare
from treeformer.training.recipe import Recipe

SST = ("sst5",)
PICTURES = [".svg"] if importlib.util.find_spec("matplotlib") else []


class Place:
    """Folders of a reproduction, and the lines of its progress."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.progress = RecordedLines()
        self.work = Workspace(folder / "work", folder / "recipes", data=folder / "data", device="cpu")

    def reproduce(self, name: str, **wanted: Any) -> bool:
        """Reproduce as the command does."""
        runner = Runner(self.logs, 2, progress=self.progress)
        return reproduce(name, Selection(**wanted), self.work, runner, self.results)

    @property
    def logs(self) -> Path:
        return self.work.folder / "logs"

    def content(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.results / f"{name}.json").read_text()))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Tiny data and recipes; commands are forks."""
    sentiment_data(tmp_path / "data")
    parallel_data(tmp_path / "data")
    sentiment_recipe(tmp_path / "recipes")
    parallel_recipe(tmp_path / "recipes")
    monkeypatch.setattr(runner, "Popen", Fork)
    return Place(tmp_path)


def row_of(results: dict[str, Any], label: str) -> dict[str, Any]:
    return next(row for row in results["rows"] if row["label"] == label)


def test_a_table_is_trained_killed_resumed_and_written(tmp_path: Path) -> None:
    """The real command, whose processes are all killed in the middle of a training."""
    sentiment_data(tmp_path / "data")
    sentiment_recipe(tmp_path / "recipes", updates=200, evaluate_every=100, save_every=20)
    recipe = Recipe.load(tmp_path / "recipes" / "sst5.yaml")
    prepare(recipe.data, tmp_path / "data", tmp_path / "work" / "prepared" / "sst5")
    command = [sys.executable, "-m", "treeformer", "reproduce", "classification", "--device", "cpu"]
    for name in ("data", "work", "results", "recipes"):
        command += [f"--{name}", str(tmp_path / name)]
    command += ["--only", "tree-transformer/sst5", "--seeds", "1", "--jobs", "2"]
    state = tmp_path / "work" / "runs" / "sst5" / "tree-transformer-seed1" / "state"
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    while not (state / "40").is_dir():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.search(r"1 of 2 done, 1 running: sst5/tree-transformer-seed1 started", result.stderr)
    log = (tmp_path / "work" / "logs" / "sst5--tree-transformer-seed1.log").read_text()
    assert log.count(" train ") == 2
    assert "resumes after update" in log
    assert not state.exists()
    row = row_of(json.loads((tmp_path / "results" / "classification.json").read_text()), "Tree Transformer")
    (run,) = row["runs"]
    assert run["updates"] == 200
    assert run["parameters"] > 0
    assert run["tests"]["test"]["scores"]["accuracy"]["count"] == 30
    assert {path.suffix for path in (tmp_path / "results").iterdir()} == {".json", ".md", *PICTURES}


def test_finished_runs_are_not_repeated_and_systems_are_compared(place: Place) -> None:
    only = ("transformer-sentences/sst5", "composed-tree-transformer/sst5")
    assert place.reproduce("classification", only=only, seeds=(1, 2))
    assert place.progress.lines[0].startswith("0 of 5 done, 1 running: prepared/sst5 started")
    results = place.content("classification")
    compared, phrases = results["comparisons"]
    assert (compared["label"], compared["rival"]) == ("Transformer, sentences", "Composed Tree Transformer")
    assert (compared["metric"], phrases["metric"]) == ("accuracy", "words and phrases")
    scores = row_of(results, "Composed Tree Transformer")["runs"][0]["tests"]["test"]["scores"]
    assert scores["words and phrases"]["count"] > scores["accuracy"]["count"]
    assert compared["seeds"] == [1, 2]
    assert compared["difference"] == pytest.approx(compared["score"] - compared["other"])
    table = (place.results / "classification.md").read_text()
    assert re.search(
        r"\| Composed Tree Transformer \| [\d.]+ ± [\d.]+ \| 2 of 3 seeds \| – \| – \| – "
        r"\| [\d.]+ ± [\d.]+ \| – \| – \| [\d,]+ ",
        table,
    )
    assert "| BiLSTM, sentences | – | not run | 35.1 |" in table
    assert row_of(results, "BiLSTM, sentences")["missing"][0]["state"] == "missing"
    place.progress.lines.clear()
    assert place.reproduce("classification", only=only, seeds=(1, 2))
    assert len(place.progress.lines) == 1  # just what was written
    assert place.content("classification") == results
    states = dict(
        line.split(maxsplit=1)[::-1] for line in listing("classification", Selection(only=SST), place.work)
    )
    assert states["sst5/composed-tree-transformer-seed1"] == "done"
    assert states["sst5/composed-tree-transformer-seed3"] == "missing"


def test_a_cell_that_fails_is_reported_and_the_others_continue(place: Place) -> None:
    only = ("bilstm/sst5", "tree-lstm/sst5")
    assert not place.reproduce(
        "classification", only=only, seeds=(1,), changes=("systems.bilstm.sizes.d_model=0",)
    )
    failed = next(line for line in place.progress.lines if "sst5/bilstm-seed1 failed: status 1: " in line)
    assert "d_model" in failed
    results = place.content("classification")
    assert row_of(results, "Tree-LSTM")["runs"]
    assert "d_model" in row_of(results, "BiLSTM, every phrase")["missing"][0]["reason"]
    assert re.search(
        r"- SST-5, BiLSTM, every phrase, seed 1: failed, .*d_model",
        (place.results / "classification.md").read_text(),
    )


def test_runs_of_another_machine_stay_in_the_results_while_the_recipe_is_the_same(place: Place) -> None:
    only = ("tree-lstm/sst5",)
    assert place.reproduce("classification", only=only, seeds=(1,))
    before = row_of(place.content("classification"), "Tree-LSTM")
    place.work.folder.rename(place.folder / "gone")
    (place.folder / "gone" / "prepared").rename(place.folder / "prepared")
    assert place.reproduce("classification", only=("tree-transformer/sst5",), seeds=(1,))
    assert row_of(place.content("classification"), "Tree-LSTM") == before
    sentiment_recipe(place.folder / "recipes", learning_rate=0.02)
    with pytest.raises(ValueError, match="found none"):
        place.reproduce("classification", only=("tree-lstm/sst9",), seeds=(1,))
    assert not place.reproduce("classification", only=("tree-transformer/sst5",), seeds=(1,))
    assert (
        "this run has another recipe (training.learning_rate was 0.01, now 0.02)" in place.progress.lines[-2]
    )
    assert not row_of(place.content("classification"), "Tree-LSTM")["runs"]


def test_a_run_of_one_table_is_shown_in_all_tables_with_its_recipe(place: Place) -> None:
    assert place.reproduce("classification", only=("composed-tree-transformer/sst5",), seeds=(1,))
    (run,) = row_of(place.content("classification"), "Composed Tree Transformer")["runs"]
    place.work.folder.rename(place.folder / "gone")
    assert place.reproduce("data-size", only=("transformer-share10/sst5",), seeds=(1,))
    results = place.content("data-size")
    assert row_of(results, "Composed Tree Transformer, 100 %")["runs"] == [run]
    assert [one["seed"] for one in row_of(results, "Composed Tree Transformer, 100 %")["missing"]] == [2, 3]
    assert not row_of(results, "Composed Tree Transformer, 10 %")["runs"]  # another recipe
    assert "Composed Tree Transformer, 100 % (seeds 2, 3)" in page(place.results)


def test_only_names_what_there_is() -> None:
    """A pattern that matches nothing is an error in a dry run, too."""
    assert Selection(only=("sst5",)).names("controls") == ["controls"]
    some = Selection(only=("tree-lstm/sst5",)).names("all")
    assert "classification" in some
    assert not {"translation", "speed"} & {*some}
    assert {"speed", "parameters"} < {*Selection().names("all")}
    for name in ("classification", "all"):
        with pytest.raises(
            ValueError, match=f"--only sst9: expected tasks and systems of {name}, found none"
        ):
            Selection(only=("sst5", "sst9")).names(name)
    results = CliRunner().invoke(app, ["reproduce", "translation", "--only", "sst9", "--dry-run"])
    assert "expected tasks and systems of translation, found none" in str(results.exception)


def test_translation_and_its_attention(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        place.reproduce("translation", only=("transformer", "tree-transformer/multi30k-en-de"), seeds=(1,))
        is False
    )
    assert place.reproduce("attention-share", only=("multi30k-en-de",))
    table = (place.results / "translation.md").read_text()
    assert (
        "| BLEU of tokens | BLEU (13a) | seeds | paper (IWSLT'14 En-De) | Tree Transformer ahead by | p |"
        in table
    )
    assert "tok:none" in table
    assert "| layer 1 |" in (place.results / "attention-share.md").read_text()
    written = [place.results / f"translation{suffix}" for suffix in (".md", *PICTURES)]
    before = [path.read_bytes() for path in written]
    for path in written:
        path.unlink()
    remake(place.results / "translation.json", place.progress)
    assert [path.read_bytes() for path in written] == before

    def missing(results: object, path: Path) -> None:
        raise ImportError(f"{path}: a plot needs matplotlib: pip install '.[plot]' in the clone")

    monkeypatch.setattr("treeformer.analysis.reproduction.plot", missing)
    remake(place.results / "translation.json", place.progress)
    assert "pip install '.[plot]' in the clone" in place.progress.lines[-2]


def test_quick_results_never_take_the_place_of_real_ones(place: Place) -> None:
    place.results.mkdir()
    real = place.results / "parameters.json"
    real.write_text("{}")
    assert place.reproduce("parameters", quick=True)
    assert real.read_text() == "{}"
    assert place.content("quick-parameters")["quick"]
    assert "**Quick version**" in (place.results / "quick-parameters.md").read_text()


def test_the_command_lists_what_there_is_to_do_and_does_nothing(tmp_path: Path) -> None:
    recipes = sentiment_recipe(tmp_path / "recipes")
    where = [
        "--recipes",
        str(recipes),
        "--work",
        str(tmp_path / "work"),
        "--results",
        str(tmp_path / "results"),
    ]
    command = [
        "reproduce",
        "all",
        "--dry-run",
        "--quick",
        "--only",
        "sst5/tree-transformer",
        "--device",
        "cpu",
    ]
    result = CliRunner().invoke(app, [*command, *where])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "missing       sst5/tree-transformer-seed1"
    assert "missing       sst5/tree-transformer-no-mask-seed1" in lines
    assert not (tmp_path / "work").exists()
    assert not (tmp_path / "results").exists()
