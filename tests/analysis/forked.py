"""Commands as forks of a process that has imported torch, which saves the time of the import."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from typing import IO

from treeformer.cli import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["treeformer.analysis.attention_share", "treeformer.training.loop"])


def run(arguments: list[str], log: str, environment: Mapping[str, str]) -> None:
    """``treeformer ARGUMENTS``, its output at the end of a log."""
    os.environ.update(environment)
    with open(log, "ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    sys.argv = ["treeformer", *arguments]
    main.main()


class Fork:
    """The part of ``subprocess.Popen`` that the runner uses, for ``python -m treeformer ARGUMENTS``."""

    def __init__(
        self, command: list[str], *, stdin: int, stdout: IO[bytes], stderr: IO[bytes], env: Mapping[str, str]
    ) -> None:
        self._process = _CONTEXT.Process(target=run, args=(command[3:], stdout.name, dict(env)))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        """The status, None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The status, None while it runs."""
        return self._process.exitcode
