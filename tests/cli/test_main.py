"""What every command does with signals, closed streams and a machine that is at its limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CAT = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"
HANGING = """
import sys, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("importing", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Finder())
sys.argv[0] = "treeformer"
from treeformer.cli.main import main
main()
"""


def shell(command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``treeformer COMMAND`` in a shell, with its redirections."""
    return subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m treeformer {command}"],
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
    def ignore() -> None:  # as a shell does for commands in the background
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    script = tmp_path / "treeformer"
    script.write_text(HANGING.format(module=module))
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, script, *arguments],
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
    assert (process.returncode, errors) == (130, b"")
