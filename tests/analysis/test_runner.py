"""Parallel jobs: order, failures, locks, time limit."""

from __future__ import annotations

import fcntl
import sys
import time
from pathlib import Path

from tests.analysis.toys import RecordedLines
from treeformer.analysis.runner import Command, Job, Runner


def python(script: str) -> Command:
    return [sys.executable, "-S", "-c", script]


def test_jobs_wait_for_what_they_need_and_failures_stop_only_what_needs_them(tmp_path: Path) -> None:
    progress = RecordedLines()
    first = Job("corpus", lambda: [python("import sys; sys.exit('no such file')")])
    good = Job("other/corpus", lambda: [python(f"open({str(tmp_path / 'made')!r}, 'w')")])
    needs_good = Job("run", lambda: [python(f"open({str(tmp_path / 'made')!r})")] * 2, good)
    jobs = [first, Job("lost", lambda: [python("")], first), good, needs_good, Job("nothing", list)]
    Runner(tmp_path / "logs", 2, progress=progress).run(jobs)
    assert [job.state for job in jobs] == ["failed", "failed", "done", "done", "done"]
    assert first.reason == "status 1: no such file"
    assert jobs[1].reason == "corpus failed"
    assert any(line.endswith("lost failed: corpus failed") for line in progress.lines)
    assert (tmp_path / "logs" / "run.log").read_text().count("$ ") == 2


def test_no_more_run_at_once_than_asked_for_and_in_the_order_of_the_list(tmp_path: Path) -> None:
    begun: list[str] = []
    running: list[int] = []
    jobs: list[Job] = []

    def beginning(name: str) -> list[Command]:
        begun.append(name)
        running.append(sum(job.process is not None for job in jobs))
        return [python("import time; time.sleep(0.3)")]

    jobs += [Job(name, lambda name=name: beginning(name)) for name in "abcd"]  # type: ignore[misc]
    Runner(tmp_path, 2).run(jobs)
    assert begun == ["a", "b", "c", "d"]
    assert max(running) == 1  # number of running jobs when another started


def test_a_job_that_another_process_runs_is_waited_for(tmp_path: Path) -> None:
    asked: list[float] = []

    def commands() -> list[Command]:
        asked.append(time.monotonic())
        return []

    with open(tmp_path / "run.log", "ab") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        closed = time.monotonic() + 0.5
        job = Job("run", commands)
        unlocking = Job("unlocking", lambda: [python("import time; time.sleep(0.5)")], finish=log.close)
        Runner(tmp_path, 2).run([job, unlocking])
    assert job.state == "done"
    assert asked[0] > closed


def test_at_the_time_limit_commands_are_asked_to_stop_and_may_save(tmp_path: Path) -> None:
    saving = (
        "import signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (open({str(tmp_path / 'saved')!r}, 'w'), sys.exit(130)))\n"
        "time.sleep(60)"
    )
    jobs = [Job("run", lambda: [python(saving)]), Job("later", lambda: [python("")])]
    runner = Runner(tmp_path, 1, minutes=1 / 60)
    start = time.monotonic()
    runner.run(jobs)
    assert runner.stopped
    assert time.monotonic() - start < 30
    assert (tmp_path / "saved").exists()
    assert [job.state for job in jobs] == ["waiting", "waiting"]
