"""Campaigns: cases made from a seed, run until a deadline, each in a process that may crash or hang."""

from __future__ import annotations

import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HANGS = 180  #: seconds after which a case counts as one that hangs
_SKIPPED = 3  # exit code of a child that cannot run its campaign
SAVED = 25  #: failures of a campaign whose inputs are saved
_COUNTS = struct.Struct("<4qd")  # next case, cases, failures, whether a case runs, when it began


class Failure(Exception):  # noqa: N818 (a finding, not an error of the program)
    """What a case has found."""


class Skip(Exception):  # noqa: N818
    """Why a campaign cannot run on this machine."""


class Outcome(NamedTuple):
    """One row of the table."""

    name: str
    cases: int
    failures: int
    seconds: float
    skipped: str = ""


class Case:
    """One case of a campaign: its number, its generator of random numbers and its scratch folder."""

    def __init__(self, campaign: str, seed: int, number: int, folder: Path, *, replay: bool = False) -> None:
        self.campaign = campaign
        self.seed = seed
        self.number = number
        self.random = random.Random(f"{seed}/{campaign}/{number}")
        self.folder = folder
        self.weight = 1  #: what it counts for: a case of many kills counts each of them
        self.inputs: dict[str, bytes] = {}
        self._replay = replay

    def keep(self, name: str, content: str | bytes) -> None:
        """Remember an input, which is saved if the case fails."""
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        self.inputs[name] = content
        if self._replay:  # at once: the case may end the process
            (self.folder / f"input-{name}").write_bytes(content)

    def check(self, holds: object, problem: str) -> None:
        """Raise `Failure` unless something holds."""
        if not holds:
            raise Failure(problem)

    def save(self, problem: str, folder: Path) -> None:
        """Write the inputs, the problem and how to run the case again."""
        path = folder / f"{self.campaign}-{self.number}"
        path.mkdir(parents=True, exist_ok=True)
        for name, content in self.inputs.items():
            (path / name).write_bytes(content)
        again = f"python -m tests.torture --seed {self.seed} --case {self.campaign}:{self.number}"
        (path / "PROBLEM").write_text(f"{problem}\n\nagain: {again}\n", encoding="utf-8", errors="replace")


class Campaign(ABC):
    """A kind of torture. A case raises `Failure`, or any other error, where something does not hold."""

    name: str
    share = 1.0  #: of the time, relative to other campaigns
    memory = 0  #: GiB of address space that a case may use; 0: no limit

    def set_up(self, folder: Path) -> None:  # noqa: B027 (most campaigns need none)
        """Prepare what all cases use; `Skip` says why this machine cannot."""

    @abstractmethod
    def run(self, case: Case) -> None:
        """One case."""

    def tear_down(self) -> None:  # noqa: B027
        """Undo `set_up`."""


class Counts:
    """Numbers shared by the process that runs a campaign and the one that watches it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _COUNTS.size)

    def read(self) -> tuple[int, int, int, int, float]:
        """Next case, cases, failures, whether a case runs, and when it began."""
        return _COUNTS.unpack(self._memory[:])

    def write(self, *values: float) -> None:
        self._memory[:] = _COUNTS.pack(*values)


class Lane:
    """Campaigns one after another, each in a child that is replaced after a crash or a hang.

    Args:
        campaigns: those of the lane, in order; each gets its share of the time.
        seed: of all cases.
        seconds: for all campaigns together.
        work: a folder for scratch files.
        failures: the folder of failures.
    """

    def __init__(
        self, campaigns: Sequence[Campaign], seed: int, seconds: float, work: Path, failures: Path
    ) -> None:
        self.outcomes: list[Outcome] = []
        self._waiting = list(campaigns)
        self._seed, self._work, self._failures = seed, work, failures
        self._end = time.monotonic() + seconds
        self._pid = 0
        self._begin_next()

    def poll(self) -> bool:
        """Look after the child; whether a campaign still runs."""
        if not self._waiting:
            return False
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self._pid = 0
            self._child_ended(status)
        else:
            _, _, _, running, began = self._counts.read()
            if running and time.monotonic() - began > HANGS:
                os.kill(self._pid, signal.SIGKILL)
        return bool(self._waiting)

    def kill(self) -> None:
        """End the child."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _begin_next(self) -> None:
        """Begin the next campaign, if there is one."""
        if self._waiting:
            share = self._waiting[0].share / sum(campaign.share for campaign in self._waiting)
            self._counts = Counts()
            self._began = time.monotonic()
            self._until = self._began + share * max(self._end - self._began, 1)
            self._start_child()

    def _start_child(self) -> None:
        campaign = self._waiting[0]
        self._folder = self._work / campaign.name
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        seconds = self._until - time.monotonic()
        self._pid = os.fork()
        if self._pid == 0:
            os._exit(_child(campaign, self._counts, self._seed, seconds, self._folder, self._failures))

    def _child_ended(self, status: int) -> None:
        """Take the next campaign, or after a crash the next case of this one."""
        number, cases, failed, running, _ = self._counts.read()
        name, skipped = self._waiting[0].name, ""
        if status:
            exit_code = os.waitstatus_to_exitcode(status)
            if exit_code == _SKIPPED:
                skipped = (self._folder / "skipped").read_text()
            else:
                what = "the case" if running else "the preparation"
                problem = f"{what} ended its process or hung (status {exit_code})"
                Case(name, self._seed, number, self._folder).save(problem, self._failures)
                _say(f"{name}:{number}: {problem}")
                self._counts.write(number + 1, cases + running, failed + 1, 0, 0)
                if running and time.monotonic() < self._until:
                    self._start_child()
                    return
        shutil.rmtree(self._folder, ignore_errors=True)
        _, cases, failed, _, _ = self._counts.read()
        self.outcomes.append(Outcome(name, cases, failed, time.monotonic() - self._began, skipped))
        self._waiting = self._waiting[1:]
        self._begin_next()


def _child(
    campaign: Campaign, counts: Counts, seed: int, seconds: float, folder: Path, failures: Path
) -> int:
    """Run cases until the deadline; returns the exit code: 3 if the machine cannot run them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    if campaign.memory:
        limit = campaign.memory << 30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    number, cases, failed, _, _ = counts.read()
    try:
        campaign.set_up(folder)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            counts.write(number, cases, failed, 1, time.monotonic())
            case = Case(campaign.name, seed, number, folder)
            problem = problem_of(campaign, case)
            if problem:
                failed += 1
                if failed <= SAVED:
                    case.save(problem, failures)
                    _say(f"{campaign.name}:{number}: {problem.splitlines()[0][:300]}")
            number, cases = number + 1, cases + case.weight
            counts.write(number, cases, failed, 0, 0)
    except Skip as skip:
        (folder / "skipped").write_text(str(skip))
        return _SKIPPED
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        campaign.tear_down()
    return 0


def problem_of(campaign: Campaign, case: Case) -> str | None:
    """What a case has found, None if everything holds."""
    try:
        campaign.run(case)
    except Failure as failure:
        return str(failure)
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}\n\n{traceback.format_exc()}"
    return None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
