"""Jobs that run as parallel processes: each is a list of commands with a log."""

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

from treeformer.progress import Progress
from treeformer.storage import lock_stream

Command = list[str]
_POLL_SECONDS = 0.2
_REPORT_SECONDS = 60  # between two lines of progress
_STOP_SECONDS = 120  # for a command to save its state after SIGTERM
_TAIL = 6  # lines of a log in the report of a failure


@dataclass
class Job:
    """Commands to run one after another.

    name: name of the job and of its log.
    commands: returns the commands that are still to be run; called when the job starts.
    needs: a job that must be done before.
    finish: called after the last command.
    """

    name: str
    commands: Callable[[], Sequence[Command]]
    needs: Job | None = None
    finish: Callable[[], None] | None = None
    state: str = "waiting"  #: then running, done or failed
    reason: str = ""  #: why it failed
    remaining: deque[Command] = field(default_factory=deque)
    process: Popen[bytes] | None = None
    log: IO[bytes] | None = None  #: open and locked while the job runs
    started: float = 0.0


class Runner:
    """Runs jobs, at most ``count`` at the same time.

    Args:
        logs: folder of the logs.
        count: number of jobs that may run at the same time.
        minutes: time limit after which running commands are asked to stop; None for no limit.
        progress: reports starts, ends and failures.
    """

    def __init__(
        self, logs: Path, count: int, minutes: float | None = None, progress: Progress | None = None
    ) -> None:
        self.logs = logs
        self.count = count
        self.progress = progress or Progress()
        self.stopped = False
        self._jobs: Sequence[Job] = ()
        self._last_report = time.monotonic()
        self._deadline = None if minutes is None else time.monotonic() + 60 * minutes

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs; afterwards each is ``done`` or ``failed``, or ``waiting`` if the runner ``stopped``.

        The time limit, Ctrl-C and SIGTERM stop it. A failure is reported with the end of the log, and the
        other jobs continue. A job that another process is running is waited for.
        """
        self._jobs = jobs
        previous_handler = signal.signal(signal.SIGTERM, _interrupt)
        try:
            while not self.stopped and any(job.state in ("waiting", "running") for job in jobs):
                for job in self._in_state("running"):
                    self._poll(job)
                self._start_ready()
                now = time.monotonic()
                if now - self._last_report > _REPORT_SECONDS:
                    self._report(", ".join(job.name for job in self._in_state("running")))
                if self._deadline is not None and now > self._deadline:
                    self._stop("time limit reached")
                time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            self._stop("interrupted")
        finally:
            signal.signal(signal.SIGTERM, previous_handler)

    def _in_state(self, state: str) -> list[Job]:
        return [job for job in self._jobs if job.state == state]

    def _start_ready(self) -> None:
        """Start jobs that are ready, up to the allowed number."""
        for job in self._in_state("waiting"):
            if len(self._in_state("running")) >= self.count:
                return
            if job.needs is None or job.needs.state == "done":
                self._start(job)
            elif job.needs.state == "failed":
                self._fail(job, f"{job.needs.name} failed")

    def _start(self, job: Job) -> None:
        """Start a job, unless another process holds the lock on its log."""
        path = self._log_path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        job.log = open(path, "ab")  # noqa: SIM115
        if not lock_stream(job.log):
            job.log.close()
            return
        try:
            job.remaining = deque(job.commands())
        except (ValueError, OSError) as error:
            self._fail(job, str(error))
            return
        job.started = time.monotonic()
        if not job.remaining:
            self._finish(job)
            return
        job.state = "running"
        self._run_next(job)
        self._report(f"{job.name} started")

    def _run_next(self, job: Job) -> None:
        assert job.log is not None
        command = job.remaining.popleft()
        job.log.write(f"\n$ {shlex.join(command)}\n".encode())
        job.log.flush()
        job.process = Popen(command, stdin=DEVNULL, stdout=job.log, stderr=job.log, env=self._environment())

    def _environment(self) -> Mapping[str, str]:
        """The environment of a command; one thread each where several run at the same time."""
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} if self.count > 1 else {}
        return {**os.environ, **threads, "TOKENIZERS_PARALLELISM": "false"}

    def _poll(self, job: Job) -> None:
        """Continue a job whose command has ended."""
        assert job.process is not None
        if job.process.poll() is None:
            return
        status = job.process.returncode
        if status:
            self._fail(job, f"status {status}: {self._log_tail(job)}")
        elif job.remaining:
            self._run_next(job)
        else:
            self._finish(job)
            self._report(f"{job.name} done in {time.monotonic() - job.started:.0f} s")

    def _finish(self, job: Job) -> None:
        if job.finish is not None:
            job.finish()
        self._close(job, "done")

    def _fail(self, job: Job, reason: str) -> None:
        job.reason = reason
        self._close(job, "failed")
        self._report(f"{job.name} failed: {reason}")

    def _close(self, job: Job, state: str) -> None:
        job.state, job.process = state, None
        if job.log is not None:
            job.log.close()

    def _log_path(self, job: Job) -> Path:
        return self.logs / f"{job.name.replace('/', '--')}.log"

    def _log_tail(self, job: Job) -> str:
        """The last lines of the last command in a log."""
        path = self._log_path(job)
        _, _, output = path.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")
        return "\n".join(output.strip().splitlines()[1:][-_TAIL:]) or f"no output, see {path}"

    def _report(self, text: str) -> None:
        done, running, failed = (len(self._in_state(state)) for state in ("done", "running", "failed"))
        failures = f", {failed} failed" if failed else ""
        self._last_report = time.monotonic()
        self.progress.log(f"{done} of {len(self._jobs)} done, {running} running{failures}: {text}")

    def _stop(self, reason: str) -> None:
        """Ask running commands to stop; training saves its state first."""
        self.progress.log(f"{reason}: stopping what runs; run the same command again to resume")
        self.stopped = True
        running = [(job, job.process) for job in self._in_state("running") if job.process is not None]
        for _, process in running:
            process.terminate()
        for job, process in running:
            try:
                process.wait(_STOP_SECONDS)
            except TimeoutExpired:
                process.kill()
            self._close(job, "waiting")


def treeformer(*arguments: str | Path) -> Command:
    """The command ``treeformer ARGUMENTS``, run by this Python."""
    return [sys.executable, "-m", "treeformer", *map(str, arguments)]


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
