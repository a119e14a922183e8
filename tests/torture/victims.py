"""Commands to be killed and damaged: real processes, forked from one that has imported everything."""

from __future__ import annotations

import atexit
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from tests.torture.campaigns import Failure

TIMEOUT = 120
_COUNT = iter(range(10**9))


def import_everything() -> None:
    """Import what the commands need, so that a fork of this process begins at once."""
    import torch

    import treeformer.cli.commands
    import treeformer.data.preparation
    import treeformer.evaluation.predictions
    import treeformer.inference.classifier
    import treeformer.inference.pictures
    import treeformer.parsing.embedded
    import treeformer.training.loop  # noqa: F401

    torch.set_num_threads(1)


class Victim:
    """A running ``treeformer`` command.

    Args:
        arguments: of the command.
        folder: where its standard streams are files.
        text: its standard input.
        fresh: a new interpreter instead of a fork.
        largest_file: bytes that it may write into a file.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        folder: Path,
        *,
        text: bytes = b"",
        fresh: bool = False,
        largest_file: int | None = None,
    ) -> None:
        self.arguments = [str(argument) for argument in arguments]
        number = next(_COUNT)
        self._files = [folder / f"{number}.{name}" for name in ("stdin", "stdout", "stderr")]
        self._files[0].write_bytes(text)
        self._status: int | None = None
        flags = (os.O_RDONLY, os.O_CREAT | os.O_WRONLY, os.O_CREAT | os.O_WRONLY)
        streams = [os.open(path, flag, 0o600) for path, flag in zip(self._files, flags, strict=True)]
        self.pid = (_start_fresh if fresh else _start_fork)(self.arguments, streams, largest_file)
        for stream in streams:
            os.close(stream)

    def poll(self) -> int | None:
        """The exit status, None while it runs; negative: the signal that ended it."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float = TIMEOUT) -> int:
        """The exit status, once it has ended; `Failure` if it does not."""
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                self.kill()
                raise Failure(f"{self}: still runs after {timeout:.0f} s")
            time.sleep(0.002)
        return status

    def kill(self) -> None:
        """End it by SIGKILL, with all processes of its session, and wait for it."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(status)

    def send(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait_for_handlers(self) -> None:
        """Wait until the command handles SIGTERM, or has ended."""
        while self.poll() is None:
            status = Path(f"/proc/{self.pid}/status").read_text()
            caught = int(status.partition("SigCgt:")[2].split()[0], 16)
            if caught >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.001)

    def family(self) -> list[int]:
        """The processes of its session that still run, itself excluded."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdecimal() and int(entry) != self.pid:
                try:
                    fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if fields[0] != "Z" and int(fields[3]) == self.pid:
                    found.append(int(entry))
        return found

    def end_family(self, timeout: float = 10) -> bool:
        """Whether all its processes end by themselves; those that do not are killed."""
        deadline = time.monotonic() + timeout
        while left := self.family():
            if time.monotonic() > deadline:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                return False
            time.sleep(0.02)
        return True

    @property
    def output(self) -> bytes:
        """Its standard output so far."""
        return self._files[1].read_bytes()

    @property
    def errors(self) -> str:
        """Its standard error so far."""
        return self._files[2].read_bytes().decode("utf-8", "replace")

    def __str__(self) -> str:
        return f"treeformer {' '.join(self.arguments)}"

    def clean(self) -> None:
        """Remove the files of its streams."""
        for path in self._files:
            path.unlink(missing_ok=True)


def run(arguments: Sequence[object], folder: Path, **options: object) -> Victim:
    """A command that has ended."""
    victim = Victim(arguments, folder, **options)  # type: ignore[arg-type]
    victim.wait()
    return victim


def check_refusal(victim: Victim, *names: str) -> None:
    """`Failure` unless a command ended with status 1 and one line, which names one of these files."""
    status, errors = victim.wait(), victim.errors
    last = errors.splitlines()[-1] if errors else ""
    if "Traceback" in errors:
        raise Failure(f"{victim}: a traceback: {errors[-3000:]}")
    if status != 1:
        raise Failure(f"{victim}: expected status 1, got {status}: {errors[-1000:]}")
    if not last.startswith("treeformer: ") or errors.count("treeformer: ") != 1 or len(last) > 3000:
        raise Failure(f"{victim}: expected one line that begins with 'treeformer: ', got {errors[-3000:]}")
    if names and not any(name in last for name in names):
        raise Failure(f"{victim}: the message does not name {' or '.join(names)}: {last}")


def _start_fresh(arguments: list[str], streams: list[int], largest_file: int | None) -> int:
    """Start an interpreter."""
    command = [sys.executable, "-m", "treeformer", *arguments]
    return subprocess.Popen(
        command,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        preexec_fn=lambda: _prepare(largest_file),
    ).pid


def _prepare(largest_file: int | None) -> None:
    """A session of its own, death with the parent, and the limit on files."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


def _start_fork(arguments: list[str], streams: list[int], largest_file: int | None) -> int:
    """Fork this process and run the command there, as the interpreter would."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _prepare(largest_file)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin = TextIOWrapper(os.fdopen(0, "rb", closefd=False))
        sys.stdout = TextIOWrapper(os.fdopen(1, "wb", closefd=False))
        sys.stderr = TextIOWrapper(os.fdopen(2, "wb", closefd=False), line_buffering=True)
        sys.argv = ["treeformer", *arguments]
        status = _main()
    finally:
        os._exit(status)


def _main() -> int:
    """The status of the command; what the interpreter does at its end is done here, too."""
    from treeformer.cli.main import main

    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    return status
