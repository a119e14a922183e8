"""Run the command line as a user does: in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping

from typer.testing import CliRunner

from treeformer.cli.commands import app


def treeformer(
    *arguments: str,
    text: str | bytes = "",
    environment: Mapping[str, str] | None = None,
    largest_file: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Status, output and errors of ``treeformer ARGUMENTS`` with ``text`` on its standard input.

    Args:
        arguments: of the command.
        text: its standard input.
        environment: its variables; default: ours.
        largest_file: bytes that it may write into a file, as on a disk that is nearly full.
    """

    def limit() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    result = subprocess.run(
        [sys.executable, "-m", "treeformer", *arguments],
        input=text.encode() if isinstance(text, str) else text,
        capture_output=True,
        env=environment,
        timeout=300,
        preexec_fn=limit,
        check=False,
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
    )


def refusal(*arguments: object) -> str:
    """The message with which a command refuses bad input, run in this process.

    `treeformer.cli.main.main` prints it in one line; the tests of ``classify`` check that.
    """
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert isinstance(result.exception, (ValueError, OSError)), result.output
    assert result.stdout == ""
    message = str(result.exception)
    assert "\n" not in message
    return message
