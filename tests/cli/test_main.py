"""What every command does with signals, closed streams and a machine that is at its limits."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from treeformer import __version__

CAT = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"
HANGING = """
import sys, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            try:
                print("importing", flush=True)
                time.sleep(60)
            except KeyboardInterrupt as error:
                {reaction}
sys.meta_path.insert(0, Finder())
sys.argv[0] = "treeformer"
from treeformer.cli.main import main
main()
"""


def shell(command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``treeformer COMMAND`` in a shell, with its redirections."""
    return subprocess.run(
        ["sh", "-c", f"{sys.executable} -m treeformer {command}"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("typer", ["train"]),
        ("torch", ["train", "recipes/sst5.yaml", "--data", "none", "--output", "none"]),
        ("torch", ["classify", "x"]),
    ],
)
def test_an_interrupt_during_imports_ends_the_command(
    module: str, arguments: list[str], number: int, tmp_path: Path
) -> None:
    script = HANGING.format(module=module, reaction="raise")
    assert interrupted(script, arguments, number, tmp_path) == (130, b"")


def test_an_interrupt_that_a_library_turns_into_another_error_ends_the_command(tmp_path: Path) -> None:
    reaction = 'raise ImportError("initialization failed") from error'  # as that of onnxruntime
    script = HANGING.format(module="onnxruntime", reaction=reaction)
    assert interrupted(script, ["parse", "README.md"], signal.SIGTERM, tmp_path) == (130, b"")


def test_an_interrupt_that_a_library_loses_while_it_is_imported_ends_the_command(tmp_path: Path) -> None:
    reaction = "from importlib.machinery import ModuleSpec; return ModuleSpec(name, None)"
    script = HANGING.format(module="typer", reaction=reaction)
    assert interrupted(script, ["draw"], signal.SIGINT, tmp_path) == (130, b"")


def test_an_interrupt_while_the_interpreter_ends_leaves_no_traceback(tmp_path: Path) -> None:
    script = """
import atexit, sys, time
def wait():
    print("importing", flush=True)
    time.sleep(60)
class Library:
    def find_spec(self, name, *rest):
        if name == "typer":
            sys.meta_path.remove(self)
            atexit.register(wait)
sys.meta_path.insert(0, Library())
sys.argv[0] = "treeformer"
from treeformer.cli.main import main
main()
"""
    assert interrupted(script, ["draw"], signal.SIGINT, tmp_path) == (130, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_of_a_command_does_not_change_its_status(number: int, tmp_path: Path) -> None:
    script = f"""
import os, sys
class Late:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, {number:d})
sys.late = Late()
from treeformer.cli.main import main
sys.argv = ["treeformer", "--version"]
main()
"""
    path = tmp_path / "script.py"
    path.write_text(script)
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, path], env={**os.environ, "PYTHONPATH": str(root)}, timeout=120)
    assert done.returncode == 0


def interrupted(script: str, arguments: list[str], number: int, folder: Path) -> tuple[int, bytes]:
    """Status and errors of a script that gets a signal when it has printed "importing"."""

    def ignore() -> None:  # as a shell does for commands in the background
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    path = folder / "treeformer"
    path.write_text(script)
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, path, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        preexec_fn=ignore,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"importing\n"
        start = time.monotonic()
        process.send_signal(number)
        _, errors = process.communicate()
    assert time.monotonic() - start < 20
    return process.returncode, errors


class TestStreams:
    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (f"draw '{CAT}' >&-", "standard output: it is closed"),
            (f"draw '{CAT}' > /dev/full", "standard output: No space left on device"),
            ("--help >&-", "standard output: it is closed"),
            ("draw <&-", "standard input: it is closed"),
            ("score - nothing <&-", "standard input: it is closed"),
        ],
    )
    def test_a_stream_that_fails_is_named(self, command: str, message: str) -> None:
        result = shell(command)
        assert (result.returncode, result.stderr) == (1, f"treeformer: {message}\n")

    def test_a_reader_that_leaves_early_ends_the_command_in_silence(self) -> None:
        result = shell("draw | head -1", f"{CAT}\n" * 20_000)
        assert (result.returncode, result.stdout, result.stderr) == (0, "         S\n", "")

    def test_closed_errors_do_not_disturb(self) -> None:
        result = shell(f"draw '{CAT}' 2>&-")
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("         S\n")


class TestPictures:
    def test_a_picture_that_does_not_fit_leaves_no_file(self, tmp_path: Path) -> None:
        picture = tmp_path / "tree.svg"
        result = treeformer("draw", CAT, "--svg", str(picture), largest_file=100)
        assert result.returncode == 1
        assert result.stderr == (
            f"treeformer: {picture}: could not be written (File too large); it is as it was before\n"
        )
        assert list(tmp_path.iterdir()) == []

    def test_a_device_that_fails_is_named_and_stays(self) -> None:
        result = treeformer("draw", CAT, "--svg", "/dev/full")
        assert (result.returncode, result.stderr) == (1, "treeformer: /dev/full: No space left on device\n")

    def test_a_device_can_be_written_to(self) -> None:
        assert treeformer("draw", CAT, "--svg", "/dev/stdout").stdout.startswith("<svg")


@pytest.mark.parametrize(
    "arguments",
    [
        ["parse", "--workers", "9" * 30],
        ["prepare", "r.yaml", "--output", "o", "--workers", "9" * 30],
        ["train", "r.yaml", "--data", "d", "--output", "o", "--seed", "9" * 30],
        ["train", "r.yaml", "--data", "d", "--output", "o", "--seed", "-1"],
    ],
)
def test_absurd_numbers_are_refused_by_the_name_of_the_option(arguments: list[str]) -> None:
    result = treeformer(*arguments)
    assert result.returncode == 2
    assert f"Invalid value for '{arguments[-2]}'" in result.stderr


def test_the_message_for_an_error_is_one_line() -> None:
    result = treeformer("train", "recipes/sst5.yaml", "--data", "d", "--output", "o", "--set", "a\nb")
    assert result.returncode == 1
    assert result.stderr == "treeformer: --set a\\nb: expected key=value, as in training.updates=100\n"


def typed(arguments: list[str], text: bytes) -> tuple[bytes, bytes]:
    """Output and errors of a command whose input is typed on a terminal of 60 columns."""
    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60"}
    command = [sys.executable, "-m", "treeformer", *arguments]
    with subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.write(keyboard, text + b"\x04")  # Ctrl-D
        result = process.communicate(timeout=120)
    os.close(keyboard)
    os.close(terminal)
    return result


@pytest.mark.parametrize(
    ("arguments", "content"), [(["draw"], b"trees in brackets"), (["parse", "--tokenized"], b"text")]
)
def test_a_command_that_waits_for_the_keyboard_says_so(arguments: list[str], content: bytes) -> None:
    output, errors = typed(arguments, CAT.encode() + b"\n")
    assert output
    hint = b"treeformer: reading " + content + b" from the keyboard; Ctrl-D ends, Ctrl-C stops\n"
    assert errors.startswith(hint)


def test_fit_asks_for_a_column_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "talks.csv"
    lines = [f"Ann has {n} old cats,Bob has {n} old dogs,{'yes' if n % 2 else 'no'}\n" for n in range(12)]
    path.write_text("question,reply,mark\n" + "".join(lines), encoding="utf-8")
    _, errors = typed(["fit", str(path)], b"reply\n")
    asked, *_, last = errors.decode().splitlines()
    assert asked == "Which column holds the texts? question, reply"
    assert "texts in the column reply, labels in the column mark" in errors.decode()
    assert last.endswith("expected at least 20 labelled texts, found 12; a few hundred are a good start")


def test_a_command_that_reads_a_pipe_gives_no_hint() -> None:
    assert "keyboard" not in treeformer("draw", text=CAT).stderr


def test_a_tree_that_is_wider_than_the_terminal_is_an_outline() -> None:
    words = " ".join(f"(NN word{number})" for number in range(20))
    screen, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60"}
    command = [sys.executable, "-m", "treeformer", "draw", f"(S (NP {words}) (VP (VBZ sleeps)))"]
    subprocess.run(command, stdout=terminal, env=environment, check=True, timeout=120)
    os.close(terminal)
    lines = os.read(screen, 1 << 16).decode().splitlines()
    os.close(screen)
    assert lines[:3] == ["S", "├ NP", "│ ├ NN  word0"]
    assert lines[-1] == "└ VP  sleeps"


def test_version_is_that_of_the_package() -> None:
    assert treeformer("--version").stdout == f"treeformer {__version__}\n"


def test_completion_can_be_installed() -> None:
    command = f"{sys.executable} -m treeformer --show-completion; true"  # it asks which shell started it
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    assert "complete -o default" in done.stdout
