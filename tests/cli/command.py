"""Run the command line as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def treeformer(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Status, output and errors of ``treeformer ARGUMENTS`` with ``text`` on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "treeformer", *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
