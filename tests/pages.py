"""Pages with code in them: their blocks are run in order, in a folder of their own.

A block of Python is run; one with a title (```` ```python title="bag.py" ````) is written to that file, as
is any other block with a title. A block of ``bash`` is run line by line: ``treeformer`` in this process,
which saves its imports, anything else by the shell. Other blocks are for the eye.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typer.testing import CliRunner

_BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def run_page(page: Path, folder: Path, *, commands: bool) -> dict[int, str]:
    """Run the blocks of a page in this folder, those of ``bash`` only with ``commands``.

    Returns what each ``print`` of the page printed last, by its line.
    """
    text = page.read_text(encoding="utf-8")
    printed: dict[int, str] = {}

    def record(*values: object) -> None:
        printed[sys._getframe(1).f_lineno] = " ".join(map(str, values))

    namespace: dict[str, object] = {"print": record}
    with _working_in(folder):
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start("text"))
            if block["title"]:
                Path(block["title"]).write_text(block["text"], encoding="utf-8")
            elif block["kind"] == "python":
                # so that an error names the line of the page
                exec(compile("\n" * line + block["text"], str(page), "exec"), namespace)
            elif block["kind"] == "bash" and commands:
                run_shell(block["text"], f"{page}:{line + 1}")
    return printed


def run_shell(text: str, place: str) -> None:
    """Run commands, one a line; a line that ends in a backslash goes on."""
    for command in text.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if words[:1] == ["treeformer"]:
            _run_treeformer(words[1:], place)
        elif words:
            subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True, timeout=60)


def _run_treeformer(words: list[str], place: str) -> None:
    from treeformer.cli.commands import app

    files = {}
    for sign in ("<", ">"):
        if sign in words:
            at = words.index(sign)
            files[sign] = Path(words[at + 1])
            del words[at : at + 2]
    text = files["<"].read_text(encoding="utf-8") if "<" in files else None
    result = CliRunner().invoke(app, words, input=text)
    assert result.exit_code == 0, f"{place}: {words}: {result.output}\n{result.exception!r}"
    if ">" in files:
        files[">"].write_text(result.stdout, encoding="utf-8")


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in a folder whose modules can be imported; afterwards all is as it was."""
    from treeformer.data.recipe import TASKS
    from treeformer.models.systems import SYSTEMS
    from treeformer.parsing.loading import _REGISTERED

    registries = (TASKS, SYSTEMS, _REGISTERED)
    before = os.getcwd(), list(sys.path), set(sys.modules), [dict(registry) for registry in registries]
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        os.chdir(before[0])
        sys.path[:] = before[1]
        for name in set(sys.modules) - before[2]:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        for registry, content in zip(registries, before[3], strict=True):
            registry.clear()  # type: ignore[attr-defined]
            registry.update(content)  # type: ignore[attr-defined]
