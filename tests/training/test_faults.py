"""Training that goes wrong ends with an error, and what was saved before stays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.training.corpora import experiment, metrics, sentiment, sentiment_recipe
from tests.training.test_resume import StopAt, command, environment
from treeformer.data.corpus import PreparedCorpus
from treeformer.inference.classifier import Classifier
from treeformer.progress import Progress
from treeformer.storage import sha256
from treeformer.training import checkpoints
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe
from treeformer.training.updates import Updater

QUICK = ("training.updates=12", "training.evaluate_every=4")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return sentiment(tmp_path_factory.mktemp("sentiment"))


class At(Progress):
    """Calls a function when an update is logged."""

    def __init__(self, step: int, action: Callable[[], object]) -> None:
        super().__init__("updates")
        self.step = step
        self.action = action
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        if done == self.step:
            self.action()


def run(corpus: PreparedCorpus, folder: Path, *changes: str, progress: Progress | None = None) -> None:
    recipe = experiment(corpus, *QUICK, *changes)
    train(recipe, corpus, folder, device="cpu", progress=progress or Progress())


def test_a_second_training_on_a_folder_is_refused_and_a_killed_one_is_no_obstacle(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    changes = ("training.updates=100000", "training.save_every=5")
    arguments = [sys.executable, *command(corpus, folder, *changes)]
    process = subprocess.Popen(arguments, env=environment(), stderr=subprocess.DEVNULL)
    try:
        while not (folder / "metrics.jsonl").exists():
            assert process.poll() is None
            time.sleep(0.05)
        with pytest.raises(BlockingIOError, match=rf"run: being written by another process .*{process.pid}"):
            train(experiment(corpus, *changes), corpus, folder, device="cpu", progress=Progress())
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    shutil.rmtree(folder)
    run(corpus, folder)
    steps = [line["step"] for line in metrics(folder) if "loss" in line]
    assert steps == sorted(set(steps))
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


@pytest.mark.parametrize("updates", [1, 12])
def test_a_diverging_training_exports_nothing_and_says_so(
    corpus: PreparedCorpus, tmp_path: Path, updates: int
) -> None:
    folder = tmp_path / "run"
    progress = At(-1, lambda: None)
    changes = ("training.learning_rate=1e20", "training.warm_up=0", "training.metric=loss")
    changes = (*changes, f"training.updates={updates}")
    with pytest.raises(ValueError, match=r"run: .*(infinite or NaN).*lower learning rate"):
        run(corpus, folder, *changes, progress=progress)
    assert not (folder / "model.safetensors").exists()
    assert checkpoints.steps(folder / "state") == []
    assert not json.loads((folder / "run.json").read_text())["finished"]
    assert not any("so far" in line for line in progress.lines)


def test_the_last_good_checkpoint_and_model_stay_when_weights_become_nan(
    corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(corpus, folder, progress=StopAt(4))
    good = {path: sha256(path) for path in (folder / "state" / "4").iterdir()}
    model = folder / "model.safetensors"
    good[model] = sha256(model)
    step = Updater.step

    def destroys(self: Updater, rate: float) -> None:  # row 15 is of no token, so the loss does not show it
        step(self, rate)
        with torch.no_grad():
            self.model.get_input_embeddings().weight[15].fill_(float("nan"))  # type: ignore[operator]

    monkeypatch.setattr(Updater, "step", destroys)
    with pytest.raises(
        ValueError, match=r"after update 8 the model: tensor encoder\.embedding\.weight has num"
    ):
        run(corpus, folder)
    assert checkpoints.steps(folder / "state") == [4]
    assert {path: sha256(path) for path in good} == good
    Classifier.from_pretrained(folder, device="cpu")
    monkeypatch.undo()
    run(corpus, folder)


@pytest.mark.parametrize("number", [".inf", ".nan", "1e999"])
def test_recipes_take_finite_numbers_only(corpus: PreparedCorpus, number: str) -> None:
    with pytest.raises(ValueError, match=r"training\.learning_rate: (expected a finite|input should be)"):
        experiment(corpus, f"training.learning_rate={number}")


def test_a_folder_that_is_deleted_during_training_is_an_error(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for again in (lambda: None, folder.mkdir):

        def delete(then: Callable[[], object] = again) -> None:
            shutil.rmtree(folder)
            then()

        with pytest.raises(ValueError, match="run: deleted, moved or replaced during the training"):
            run(corpus, folder, progress=At(6, delete))
        assert not folder.exists() or not any(folder.iterdir())
        shutil.rmtree(folder, ignore_errors=True)


def test_a_model_that_is_deleted_during_training_is_an_error_and_comes_back(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    model = folder / "model.safetensors"
    change = "training.learning_rate=1e-12"  # no later model is better than the first
    with pytest.raises(ValueError, match=r"model\.safetensors: deleted .*same command again"):
        run(corpus, folder, change, progress=At(12, model.unlink))
    run(corpus, folder, change)
    assert model.exists()


@pytest.mark.parametrize(
    ("group", "change", "message"),
    [
        ("model", lambda tensors: tensors.pop("classifier.weight"), "tensor classifier.weight is missing"),
        ("model", lambda tensors: tensors.update(more=torch.zeros(1)), "tensor more is not of this model"),
        (
            "optimizer",
            lambda tensors: tensors.update({"classifier.bias.exp_avg": torch.zeros(9)}),
            "tensor classifier.bias.exp_avg has the shape",
        ),
    ],
)
def test_a_state_with_other_tensors_is_refused_by_name(
    corpus: PreparedCorpus, tmp_path: Path, group: str, change: Callable[[Any], object], message: str
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(corpus, folder, progress=StopAt(4))
    path = folder / "state" / "4" / f"{group}.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    accept(path)
    with pytest.raises(ValueError, match=rf"state/4: {group}\.safetensors: {message}"):
        run(corpus, folder)


def accept(path: Path) -> None:
    """Write the checksum of a changed file of a checkpoint."""
    manifest = path.with_name("manifest.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), path.name: sha256(path)}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected a JSON object, found list"),
        ({"step": "many"}, r"position\.step: input should be a valid integer"),
        ({"step": 4, "best": float("nan")}, r"position\.best: expected a finite number"),
    ],
)
def test_a_position_of_the_wrong_shape_is_refused_by_key(
    corpus: PreparedCorpus, tmp_path: Path, content: object, message: str
) -> None:
    checkpoints.save(tmp_path, {"model": {"a": torch.zeros(1)}}, checkpoints.Position(4))
    path = tmp_path / "4" / "facts.json"
    path.write_text(json.dumps(content))
    accept(path)
    with pytest.raises(ValueError, match=rf"facts\.json: {message}"):
        checkpoints.load(tmp_path / "4")


@pytest.mark.parametrize("content", ["[]", "{}", '{"../../x": "0", "facts.json": "0"}', '{"facts.json": 3}'])
def test_a_manifest_of_the_wrong_shape_is_a_damaged_checkpoint(tmp_path: Path, content: str) -> None:
    checkpoints.save(tmp_path, {"model": {"a": torch.zeros(1)}}, checkpoints.Position(4))
    (tmp_path / "4" / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match=r"4(: incomplete checkpoint|/facts.json: truncated or changed)"):
        checkpoints.load(tmp_path / "4")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected a JSON object, found list"),
        ({"seed": "one"}, "seed: input should be a valid integer"),
        ({"recipe": 3}, "recipe: input should be a valid dictionary"),
        ({"recipe": {"model": 3}}, "recipe: data: field required"),
        ({"corpus": None}, "corpus: input should be a valid string"),
    ],
)
def test_facts_of_the_wrong_shape_are_refused_by_key(
    corpus: PreparedCorpus, tmp_path: Path, content: Any, message: str
) -> None:
    folder = tmp_path / "run"
    run(corpus, folder, "training.updates=2")
    path = folder / "run.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, **content} if isinstance(content, dict) else content))
    with pytest.raises(ValueError, match=r"run\.json: damaged or changed"):
        run(corpus, folder, "training.updates=2")
    (folder / "checksums.json").unlink()
    with pytest.raises(ValueError, match=rf"run\.json: {message}") as raised:
        run(corpus, folder, "training.updates=2")
    assert "\n" not in str(raised.value)


def test_metrics_of_the_wrong_shape_are_cut_off(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(corpus, folder, progress=StopAt(4))
    with open(folder / "metrics.jsonl", "a") as stream:
        stream.write("[" * 100_000 + "\n")
    run(corpus, folder)
    assert metrics(folder)[-1]["step"] == 12


@pytest.mark.parametrize("key", ["learning_rate", "weight_decay", "clip", "r_drop"])
def test_a_number_that_float32_cannot_hold_is_refused(corpus: PreparedCorpus, key: str) -> None:
    with pytest.raises(ValueError, match=rf"training\.{key}: input should be less than or equal to 1"):
        experiment(corpus, f"training.{key}=1.0e+300")


def test_an_infinite_number_in_a_recipe_file_is_refused(tmp_path: Path) -> None:
    path = sentiment_recipe(tmp_path / "recipe.yaml", learning_rate=float("inf"))
    with pytest.raises(ValueError, match=r"training\.learning_rate: expected a finite number"):
        Recipe.load(path)
