"""A resumed run ends with the weights and metrics of a run that never stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.training.corpora import experiment, metrics, sentiment
from treeformer.data.corpus import PreparedCorpus
from treeformer.progress import Progress
from treeformer.training import checkpoints
from treeformer.training.loop import train

MANY_SAVES = [
    "training.updates=60",
    "training.save_every=1",
    "training.evaluate_every=7",
    "training.log_every=3",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return sentiment(tmp_path_factory.mktemp("sentiment"))


class StopAt(Progress):
    """Interrupts training when it logs an update, as Ctrl-C does."""

    def __init__(self, step: int) -> None:
        super().__init__("updates")
        self.step = step
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        if done == self.step:
            signal.raise_signal(signal.SIGINT)


def train_quietly(
    corpus: PreparedCorpus, folder: Path, *changes: str, progress: Progress | None = None
) -> None:
    train(experiment(corpus, *changes), corpus, folder, device="cpu", progress=progress or Progress())


def assert_equal_runs(one: Path, other: Path) -> None:
    """Assert that two runs have equal metrics and weights, bit for bit."""
    assert metrics(one) == metrics(other)
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    facts = [json.loads((run / "run.json").read_text()) for run in (one, other)]
    for name in ("updates", "best", "best_step", "averaged", "finished"):
        assert facts[0][name] == facts[1][name]


@pytest.mark.parametrize("step", [2, 6, 10])
def test_an_interrupted_run_saves_and_resumes(corpus: PreparedCorpus, tmp_path: Path, step: int) -> None:
    changes = ["training.average=2", "training.patience=9", "training.word_dropout=0.3"]
    progress = StopAt(step)
    with pytest.raises(KeyboardInterrupt):
        train_quietly(corpus, tmp_path / "cut", *changes, progress=progress)
    assert checkpoints.steps(tmp_path / "cut" / "state")[-1] == step
    assert f"stopped after update {step}" in progress.lines[-1]
    train_quietly(corpus, tmp_path / "cut", *changes)
    train_quietly(corpus, tmp_path / "whole", *changes)
    assert_equal_runs(tmp_path / "cut", tmp_path / "whole")


def test_a_run_killed_at_any_moment_resumes_to_equal_weights(corpus: PreparedCorpus, tmp_path: Path) -> None:
    train_quietly(corpus, tmp_path / "whole", *MANY_SAVES)
    command = [sys.executable, "-m", "tests.training.killed", corpus.folder, tmp_path / "killed", "1"]
    run = subprocess.run([*command, *MANY_SAVES], capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    kills, in_saves = map(int, run.stdout.split())
    assert kills >= 3
    assert in_saves >= 1
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "manifest.json"])
def test_a_truncated_checkpoint_costs_the_updates_since_the_previous_one(
    corpus: PreparedCorpus, tmp_path: Path, file: str
) -> None:
    train_quietly(corpus, tmp_path / "whole", "training.keep=3")
    with pytest.raises(KeyboardInterrupt):
        train_quietly(corpus, tmp_path / "cut", "training.keep=3", progress=StopAt(10))
    path = tmp_path / "cut" / "state" / "10" / file
    path.write_bytes(path.read_bytes()[:-5])
    progress = StopAt(-1)
    train_quietly(corpus, tmp_path / "cut", "training.keep=3", progress=progress)
    assert str(tmp_path / "cut" / "state" / "10") in progress.lines[0]
    assert "resumes after update 8" in progress.lines[1]
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut")


def test_a_run_resumes_from_before_its_best_checkpoint_if_that_is_damaged(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    changes = ["training.metric=loss", "training.evaluate_every=4", "training.save_every=2"]
    train_quietly(corpus, tmp_path / "whole", *changes)
    with pytest.raises(KeyboardInterrupt):
        train_quietly(corpus, tmp_path / "cut", *changes, progress=StopAt(8))  # 8 is the best
    assert checkpoints.steps(tmp_path / "cut" / "state") == [6, 8]
    (tmp_path / "cut" / "state" / "8" / "model.safetensors").write_bytes(b"")
    progress = StopAt(-1)
    train_quietly(corpus, tmp_path / "cut", *changes, progress=progress)
    assert "the exported model is kept" in progress.lines[1]
    assert "resumes after update 6" in progress.lines[2]
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut")


def test_torn_and_later_lines_of_metrics_are_cut_off(corpus: PreparedCorpus, tmp_path: Path) -> None:
    train_quietly(corpus, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train_quietly(corpus, tmp_path / "cut", progress=StopAt(6))
    with open(tmp_path / "cut" / "metrics.jsonl", "a") as stream:
        stream.write('{"step": 8, "loss": 1.0}\n{"step": 10, "lo')
    train_quietly(corpus, tmp_path / "cut")
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut")


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def command(corpus: PreparedCorpus, folder: Path, *changes: str) -> list[str | Path]:
    """Arguments of ``python`` or ``torchrun``."""
    options = [part for change in changes for part in ("--set", change)]
    recipe = corpus.folder.parent / "recipe.yaml"
    return ["-m", "treeformer", "train", recipe, "--data", corpus.folder, "--output", folder, *options]


def test_ctrl_c_on_the_command_line_saves_and_the_same_command_resumes(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    changes = ["training.updates=400", "training.evaluate_every=200", "training.log_every=50"]
    arguments = [sys.executable, *command(corpus, tmp_path / "cut", *changes)]
    process = subprocess.Popen(arguments, env=environment(), stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "cut" / "metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped after update" in errors
    assert "Traceback" not in errors
    again = subprocess.run(
        arguments, env=environment(), capture_output=True, text=True, check=False, timeout=250
    )
    assert again.returncode == 0, again.stderr
    assert "resumes after update" in again.stderr
    assert "400 updates" in again.stderr
    train_quietly(corpus, tmp_path / "whole", *changes)
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut")


def test_two_processes_give_the_losses_of_one(corpus: PreparedCorpus, tmp_path: Path) -> None:
    changes = ["systems.tree-transformer.sizes.dropout=0", "training.clip=0.5", "training.accumulation=2"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run = subprocess.run(
        [*torchrun, *command(corpus, tmp_path / "two", *changes)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert run.returncode == 0, run.stderr
    train_quietly(corpus, tmp_path / "one", changes[0], changes[1])
    assert json.loads((tmp_path / "two" / "run.json").read_text())["processes"] == 2
    for expected, line in zip(metrics(tmp_path / "one"), metrics(tmp_path / "two"), strict=True):
        assert line == pytest.approx(expected, rel=1e-3)


def test_bad_input_gives_one_line(corpus: PreparedCorpus, tmp_path: Path) -> None:
    arguments = [sys.executable, *command(corpus, tmp_path / "run"), "--data", "nowhere"]
    run = subprocess.run(
        arguments, env=environment(), capture_output=True, text=True, check=False, timeout=250
    )
    assert run.returncode == 1
    assert run.stderr.startswith("treeformer: nowhere: not a prepared corpus")
    assert len(run.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()
