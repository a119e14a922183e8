"""``treeformer parse``: one process on an output, nothing of others touched, every run can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from tests.parsing.programs import FLAT, program
from tests.test_storage import holder

FLAT_PARSER = ("--parser-command", program(FLAT))
TREE = "(X (Y It) (Y rains) (Y .))\n"


def files(folder: Path) -> dict[str, str]:
    """The content of the files in a folder, by name."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def parse(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    return treeformer("parse", *map(str, arguments), *FLAT_PARSER, text=text)


class TestTwoProcesses:
    def test_the_second_is_refused_by_name_of_the_file_and_of_the_process(self, tmp_path: Path) -> None:
        output = tmp_path / "trees"
        other = holder(output)
        try:
            result = parse("--output", output, text="It rains.\n")
        finally:
            other.kill()
            other.wait()
        assert result.returncode == 1
        assert result.stderr == (
            f"treeformer: {output}: being written by another process (number {other.pid})\n"
        )
        assert not output.exists()

    def test_a_killed_process_is_no_obstacle(self, tmp_path: Path) -> None:
        text, output = tmp_path / "text", tmp_path / "trees"
        text.write_text("It rains.\n")
        stuck = program("time.sleep(60)")
        command = [sys.executable, "-m", "treeformer", "parse", str(text), "--output", str(output)]
        lock = tmp_path / ".trees.treeformer" / "lock"
        with subprocess.Popen([*command, "--parser-command", stuck], stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            while not (lock.exists() and lock.read_text()):
                assert process.poll() is None
            second = parse(text, "--output", output)
            os.kill(process.pid, signal.SIGKILL)
        assert f"being written by another process (number {process.pid})" in second.stderr
        assert parse(text, "--output", output).returncode == 0
        assert files(tmp_path) == {"text": "It rains.\n", "trees": TREE}


class TestFilesOfOthers:
    def test_an_input_named_like_an_unfinished_output_stays(self, tmp_path: Path) -> None:
        text, output = tmp_path / "c.partial", tmp_path / "c"
        text.write_text("It rains.\n")
        result = parse(text, "--output", output)
        assert result.returncode == 0, result.stderr
        assert "left as it is" not in result.stderr
        assert files(tmp_path) == {"c.partial": "It rains.\n", "c": TREE}

    def test_a_run_of_the_old_layout_is_named_and_left_alone(self, tmp_path: Path) -> None:
        old = tmp_path / "c.partial"
        old.write_text("(X (Y begun))\n")
        result = parse("--output", tmp_path / "c", text="It rains.\n")
        assert result.returncode == 0, result.stderr
        assert result.stderr.startswith(f"{old}: left as it is; runs that an earlier version")
        assert files(tmp_path) == {"c.partial": "(X (Y begun))\n", "c": TREE}

    def test_a_report_of_others_is_refused(self, tmp_path: Path) -> None:
        report = tmp_path / "c.report"
        report.write_text("my notes\n")
        result = parse("--output", tmp_path / "c", text="It rains.\n")
        assert result.returncode == 1
        assert result.stderr.startswith(f"treeformer: {report}: not written by treeformer; move it away")
        assert files(tmp_path) == {"c.report": "my notes\n"}

    @pytest.mark.parametrize("way", ["name", "symbolic link", "hard link", "standard input", "report"])
    def test_the_text_itself_is_no_output(self, way: str, tmp_path: Path) -> None:
        text = tmp_path / "text"
        text.write_text("It rains.\n")
        output = text if way in ("name", "standard input") else tmp_path / "other"
        if way == "symbolic link":
            output.symlink_to(text)
        elif way == "hard link":
            output.hardlink_to(text)
        elif way == "report":
            text = text.rename(tmp_path / "other.report")
        command = [sys.executable, "-m", "treeformer", "parse", "--output", str(output), *FLAT_PARSER]
        if way != "standard input":
            command.append(str(text))
        with open(text) as stream:
            result = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
        assert result.returncode == 1
        assert "expected another file than the text itself" in result.stderr
        assert set(files(tmp_path).values()) == {"It rains.\n"}

    def test_an_output_that_is_a_link_stays_one(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        link = tmp_path / "trees"
        link.symlink_to(tmp_path / "elsewhere" / "trees")
        assert parse("--output", link, text="It rains.\n").returncode == 0
        assert link.is_symlink()
        assert files(tmp_path / "elsewhere") == {"trees": TREE}


SLOW = program("""
for line in sys.stdin:
    if 'stop' in line.split():
        time.sleep(60)
    print('(X', *(f'(Y {word})' for word in line.split()), end=')\\n', flush=True)
""")


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_an_interrupted_run_says_how_to_resume(self, number: int, workers: str, tmp_path: Path) -> None:
        text, output = tmp_path / "text", tmp_path / "trees"
        text.write_text("It rains.\n" * 1024 + "stop\n")
        arguments = ["parse", str(text), "--output", str(output), "--parser-command", SLOW]
        arguments += ["--workers", workers]
        begun = tmp_path / ".trees.treeformer" / "trees"
        command = [sys.executable, "-m", "treeformer", *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while not (begun.exists() and begun.read_text().count("\n") == 1024):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(number)
            start = time.monotonic()
            _, errors = process.communicate()
        assert time.monotonic() - start < 20
        assert process.returncode == 130
        assert errors.splitlines()[-1] == (
            "interrupted: finished lines are kept; to resume, run the same command on the same text"
        )
        assert "Traceback" not in errors
        assert begun.read_text() == TREE * 1024
