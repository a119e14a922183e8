"""The number of cores follows affinity and cgroups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from treeformer.machine import cores, cpu_quota, limit_threads, threads


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


def quota(groups: Path, membership: str) -> float | None:
    file = groups.parent / "membership"
    file.write_text(membership)
    return cpu_quota(groups, file)


def test_there_is_no_quota_without_groups(groups: Path) -> None:
    assert quota(groups, "0::/\n") is None
    assert cpu_quota(groups, groups / "absent") is None


def test_the_smallest_quota_on_the_way_to_the_root_counts(groups: Path) -> None:
    write(groups / "a" / "b" / "cpu.max", "max 100000\n")
    write(groups / "a" / "cpu.max", "150000 100000\n")
    write(groups / "cpu.max", "400000 100000\n")
    assert quota(groups, "0::/a/b\n") == 1.5
    assert quota(groups, "0::/x\n") == 4


def test_version_1_is_read_too(groups: Path) -> None:
    for name, value in (("cpu.cfs_quota_us", "50000"), ("cpu.cfs_period_us", "100000")):
        write(groups / "cpu,cpuacct" / "docker" / "x" / name, value)
    assert quota(groups, "4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n") == 0.5
    write(groups / "cpu,cpuacct" / "docker" / "x" / "cpu.cfs_quota_us", "-1")
    assert quota(groups, "4:cpu,cpuacct:/docker/x\n") is None


def test_cores_are_those_that_the_process_may_use() -> None:
    script = f"import os; os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])\n"
    script += "from treeformer.machine import cores; print(cores())"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
    assert 1 <= cores() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("value", ["", "0", "many", "100000"])
def test_threads_are_as_many_as_cores_without_a_smaller_limit(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads() == cores()


def test_a_limit_holds_for_this_process_and_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    limit_threads(1)
    script = "import torch; from treeformer.machine import threads; print(threads(), torch.get_num_threads())"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (threads(), run.stdout) == (1, "1 1\n")
