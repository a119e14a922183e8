"""Processes that are killed, interrupted, or meet another at the same output."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.torture.campaigns import Campaign, Case
from tests.torture.fixtures import Fixtures
from tests.torture.victims import Victim, check_refusal, run
from tests.training.corpora import TIMES
from treeformer.checksums import check_folder
from treeformer.data.corpus import PreparedCorpus
from treeformer.storage import WorkFolder

_OF_TIME = {"seconds", "cpu_seconds", "peak_memory"}  # facts of a run that differ from run to run


class Command:
    """A command with an output that can be resumed.

    Args:
        name: parse, workers (parse in two processes), prepare, encode (prepare with an encoder) or train.
        fixtures: its inputs.
    """

    def __init__(self, name: str, fixtures: Fixtures) -> None:
        self.name = name
        self.seconds = 1.0  #: that it takes if nothing disturbs it
        self._fixtures = fixtures
        self._reference: dict[str, bytes] = {}

    def measure(self, folder: Path) -> None:
        """Run it undisturbed, for the reference and the time."""
        output = folder / f"{self.name}-reference"
        start = time.monotonic()
        victim = run(self.arguments(output), folder)
        self.seconds = time.monotonic() - start
        if victim.wait():
            raise RuntimeError(f"{victim}: {victim.errors}")
        self._reference = contents(output)
        victim.clean()
        remove(output)

    def arguments(self, output: Path) -> list[object]:
        """The command line."""
        fixtures = self._fixtures
        match self.name:
            case "parse":
                return ["parse", fixtures.lines, "--output", output, "--parser", fixtures.parser]
            case "workers":
                return [
                    *["parse", fixtures.lines, "--output", output],
                    *["--parser", fixtures.parser, "--workers", 2],
                ]
            case "prepare":
                return ["prepare", fixtures.labelled, "--data", fixtures.texts, "--output", output]
            case "encode":
                options = [*fixtures.encoder_options, "--data", fixtures.files, "--output", output]
                return ["prepare", fixtures.recipe, *options]
        return ["train", fixtures.recipe, "--data", fixtures.prepared, "--output", output, "--device", "cpu"]

    def check_output(self, case: Case, output: Path) -> None:
        """`Failure` unless the output is that of the undisturbed run, with nothing beside it."""
        found = contents(output)
        different = sorted(
            name
            for name in found.keys() | self._reference.keys()
            if found.get(name) != self._reference.get(name)
        )
        case.check(not different, f"{self.name}: the output differs in {', '.join(different)}")
        if self.name in ("prepare", "encode"):
            PreparedCorpus.open(output).check()
        elif self.name == "train":
            check_folder(output)
        rest = [path.name for path in output.parent.iterdir() if path.name.startswith(f".{output.name}.")]
        case.check(not rest, f"{self.name}: left behind: {', '.join(rest)}")


def measured_commands(fixtures: Fixtures, folder: Path) -> dict[str, Command]:
    """All commands, each measured by an undisturbed run."""
    commands = {name: Command(name, fixtures) for name in ("parse", "workers", "prepare", "encode", "train")}
    for command in commands.values():
        command.measure(folder)
    return commands


def contents(output: Path) -> dict[str, bytes]:
    """The files of an output by name, without times."""
    if output.is_file():
        return {"": output.read_bytes()}
    files = {}
    for path in sorted(output.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(output))] = _timeless(path)
    return files


def remove(output: Path) -> None:
    """Remove a file or folder and its work folder."""
    for path in (output, WorkFolder(output).path):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _timeless(path: Path) -> bytes:
    """The content of a file without what differs from run to run; empty for files made anew each time."""
    if path.name == "metrics.jsonl":
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        return repr([{key: row[key] for key in row if key not in TIMES} for row in rows]).encode()
    if path.name == "run.json":
        facts = json.loads(path.read_bytes())
        return repr({key: facts[key] for key in facts if key not in _OF_TIME}).encode()
    if "state" in path.parts or path.name == "checksums.json":  # of files with times
        return b""
    return path.read_bytes()


class OfCommands(Campaign):
    """A campaign against commands that can be resumed."""

    commands: tuple[str, ...] = ("parse", "prepare", "train")

    def __init__(self, known: Mapping[str, Command]) -> None:
        self.known = known

    def set_up(self, folder: Path) -> None:
        self.folder = folder

    def chosen(self, case: Case) -> tuple[Command, Path]:
        """The command of a case, and a free output."""
        output = self.folder / f"output-{case.number}"
        return self.known[self.commands[case.number % len(self.commands)]], output

    def resume(self, case: Case, command: Command, output: Path) -> None:
        """Run the command to its end; `Failure` unless its output is that of an undisturbed run."""
        victim = run(command.arguments(output), self.folder)
        case.check(victim.wait() == 0, f"{victim}: not resumed: {victim.errors[-3000:]}")
        command.check_output(case, output)
        victim.clean()


class Kills(OfCommands):
    """``kill -9`` at random moments, again and again; then the output of an undisturbed run."""

    name = "kill"
    share = 14.0
    commands = ("parse", "prepare", "train", "encode", "parse", "prepare", "train", "workers")

    def run(self, case: Case) -> None:
        command, output = self.chosen(case)
        case.weight = 0
        for _ in range(case.random.randint(1, 8)):
            victim = Victim(command.arguments(output), self.folder)
            latest = case.random.choice([0.2, 0.5, 1.1])  # early more often: a resumed command ends sooner
            time.sleep(case.random.uniform(0, latest) * command.seconds)
            if victim.poll() is None:
                case.weight += 1
            victim.kill()
            status = victim.wait()
            case.check(status in (0, -signal.SIGKILL), f"{victim}: status {status}: {victim.errors[-3000:]}")
            case.check(victim.end_family(), f"{victim}: its processes outlive it")
            victim.clean()
        self.resume(case, command, output)
        remove(output)


class Signals(OfCommands):
    """SIGINT and SIGTERM at random moments: status 130, no traceback, no process left, resumable."""

    name = "signals"
    share = 5.0
    commands = ("parse", "workers", "prepare", "train")

    def run(self, case: Case) -> None:
        command, output = self.chosen(case)
        number = case.random.choice([signal.SIGINT, signal.SIGTERM])
        fresh = case.random.random() < 0.1
        victim = Victim(command.arguments(output), self.folder, fresh=fresh)
        victim.wait_for_handlers()
        time.sleep(case.random.uniform(0, 1.1) * command.seconds + 2.0 * fresh * case.random.random())
        victim.send(number)
        if case.random.random() < 0.2:
            victim.send(number)  # an impatient user
        status, errors = victim.wait(60), victim.errors
        case.check(status in (0, 130), f"{victim}: status {status} after signal {number}: {errors[-3000:]}")
        case.check(
            "Traceback" not in errors, f"{victim}: a traceback after signal {number}: {errors[-3000:]}"
        )
        case.check(victim.end_family(), f"{victim}: processes are left after signal {number}")
        trees = WorkFolder(output).path / "trees"
        if status == 130 and command.name in ("parse", "workers") and trees.exists():
            case.check("to resume" in errors, f"{victim}: does not say how to resume: {errors[-3000:]}")
        victim.clean()
        self.resume(case, command, output)
        remove(output)


class Writers(OfCommands):
    """Two processes on one output: one is refused or finds it up to date, and the output is whole."""

    name = "two writers"
    share = 2.0

    def run(self, case: Case) -> None:
        command, output = self.chosen(case)
        first = Victim(command.arguments(output), self.folder)
        time.sleep(case.random.choice([0.0, case.random.uniform(0, 1.1) * command.seconds]))
        second = Victim(command.arguments(output), self.folder)
        statuses = [first.wait(), second.wait()]
        case.check(0 in statuses, f"{first}: nobody finished: {first.errors[-1500:]}{second.errors[-1500:]}")
        for victim in (first, second):
            if victim.wait():
                check_refusal(victim, str(output))
            victim.clean()
        command.check_output(case, output)
        remove(output)
