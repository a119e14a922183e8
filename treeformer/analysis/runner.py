"""Commands that run beside each other: several at once, in the order given, each with a log."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import IO

Command = list[str]
_PAUSE = 0.2  # seconds between two looks at what runs
_TAIL = 6  # lines of a log that tell why a command failed
_SILENCE = 60  # seconds after which it is told what runs
_PATIENCE = 120  # seconds in which a command that was asked to stop may save


@dataclass
class Job:
    """Commands to run one after another.

    name: also of its log.
    commands: gives those that are missing, from one moment to the next; none when the job is done.
    needs: the job that must be done before.
    finish: is called when all commands are done.
    """

    name: str
    commands: Callable[[], Sequence[Command]]
    needs: Job | None = None
    finish: Callable[[], None] = lambda: None
    state: str = "waiting"  #: then running, done or failed
    reason: str = ""  #: why it failed
    left: deque[Command] = field(default_factory=deque)
    process: Popen[bytes] | None = None
    seconds: float = 0.0


class Runner:
    """Runs jobs, at most ``count`` at once.

    Args:
        logs: folder of the logs.
        count: how many commands run at once.
        minutes: after so many the commands are asked to stop; None for no limit.
        tell: is called with a line whenever something begins or ends.
    """

    def __init__(
        self, logs: Path, count: int, minutes: float | None = None, tell: Callable[[str], None] = print
    ) -> None:
        self.logs = logs
        self.count = count
        self.tell = tell
        self.stopped = False
        self._told_at = time.monotonic()
        self._end = None if minutes is None else time.monotonic() + 60 * minutes

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all; afterwards each is ``done``, ``failed``, or still ``waiting`` if it was ``stopped``.

        Ctrl-C, SIGTERM and the end of its time stop it.

        A job that fails is told with the end of its log, and the others go on. One that another process is at
        is waited for.
        """
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            while not self.stopped and any(job.state in ("waiting", "running") for job in jobs):
                self._look(jobs)
                self._start(jobs)
                if time.monotonic() - self._told_at > _SILENCE:
                    self._tell(jobs, ", ".join(job.name for job in jobs if job.state == "running"))
                if self._end is not None and time.monotonic() > self._end:
                    self._stop(jobs, "time is up")
                time.sleep(_PAUSE)
        except KeyboardInterrupt:
            self._stop(jobs, "interrupted")
        finally:
            signal.signal(signal.SIGTERM, before)

    def _start(self, jobs: Sequence[Job]) -> None:
        """Start what is ready while there is room."""
        for job in jobs:
            if sum(other.state == "running" for other in jobs) >= self.count:
                return
            if job.state != "waiting":
                continue
            if job.needs is not None and job.needs.state == "failed":
                self._fail(job, jobs, f"{job.needs.name} failed")
            elif job.needs is None or job.needs.state == "done":
                self._begin(job, jobs)

    def _begin(self, job: Job, jobs: Sequence[Job]) -> None:
        log = self._log(job)
        if log is None:  # another process is at it
            return
        with log:
            try:
                job.left = deque(job.commands())
            except (ValueError, OSError) as error:
                self._fail(job, jobs, str(error))
                return
            if job.left:
                job.state, job.seconds = "running", time.monotonic()
                self._next(job, log)
                self._tell(jobs, f"{job.name} begins")
            else:
                job.state = "done"
                job.finish()

    def _log(self, job: Job) -> IO[bytes] | None:
        """The job's log, locked for as long as one of its commands runs; None while another has the lock."""
        path = self.logs / f"{job.name.replace('/', '--')}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        log = open(path, "ab")  # noqa: SIM115
        if not _locked(log):
            log.close()
            return None
        return log

    def _next(self, job: Job, log: IO[bytes]) -> None:
        command = job.left.popleft()
        log.write(f"\n$ {shlex.join(command)}\n".encode())
        log.flush()
        job.process = Popen(command, stdin=DEVNULL, stdout=log, stderr=log, env=self._environment())

    def _environment(self) -> Mapping[str, str]:
        """Where several commands run at once, each has one thread."""
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} if self.count > 1 else {}
        return {**os.environ, **one, "TOKENIZERS_PARALLELISM": "false"}

    def _look(self, jobs: Sequence[Job]) -> None:
        """See which commands have ended, and go on with the next of each."""
        for job in jobs:
            if job.process is None or job.process.poll() is None:
                continue
            status, job.process = job.process.returncode, None
            if status:
                self._fail(job, jobs, f"status {status}: {self._tail(job)}")
            elif job.left:
                log = self._log(job)
                assert log is not None
                with log:
                    self._next(job, log)
            else:
                job.state, job.seconds = "done", time.monotonic() - job.seconds
                job.finish()
                self._tell(jobs, f"{job.name} done in {job.seconds:.0f} s")

    def _fail(self, job: Job, jobs: Sequence[Job], reason: str) -> None:
        job.state, job.reason = "failed", reason
        self._tell(jobs, f"{job.name} failed: {reason}")

    def _tail(self, job: Job) -> str:
        """The end of a log."""
        path = self.logs / f"{job.name.replace('/', '--')}.log"
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = max((number for number, line in enumerate(lines) if line.startswith("$ ")), default=-1)
        return "\n".join(lines[last + 1 :][-_TAIL:]) or f"no output, see {path}"

    def _tell(self, jobs: Sequence[Job], text: str) -> None:
        count = {state: sum(job.state == state for job in jobs) for state in ("done", "running", "failed")}
        failed = f", {count['failed']} failed" if count["failed"] else ""
        self._told_at = time.monotonic()
        self.tell(f"{count['done']} of {len(jobs)} done, {count['running']} running{failed}: {text}")

    def _stop(self, jobs: Sequence[Job], reason: str) -> None:
        """Ask what runs to stop; training saves before it does."""
        self.tell(f"{reason}: what runs saves and stops; the same command goes on")
        self.stopped = True
        running = [job for job in jobs if job.process is not None]
        for job in running:
            assert job.process is not None
            job.process.terminate()
        for job in running:
            assert job.process is not None
            try:
                job.process.wait(_PATIENCE)
            except TimeoutExpired:
                job.process.kill()
            job.state, job.process = "waiting", None


def treeformer(*arguments: str | Path) -> Command:
    """The command ``treeformer ARGUMENTS`` of this Python."""
    return [sys.executable, "-m", "treeformer", *map(str, arguments)]


def _locked(stream: IO[bytes]) -> bool:
    """Lock a file; whoever inherits it keeps the lock, also when we are gone. False if another has it."""
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
