"""Locks and work folders: one process at a time, nothing of others removed, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treeformer.storage import Lock, WorkFolder, check_files, sha256

HOLD = """
import sys, time
from pathlib import Path
from treeformer.storage import WorkFolder
with WorkFolder(Path(sys.argv[1])) as work:
    (work.path / "trees").write_text("begun")
    print("held", flush=True)
    time.sleep(60)
"""


def holder(output: Path) -> subprocess.Popen[str]:
    """A second process that holds the work folder of an output."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(output)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_by_name_of_the_file_and_the_process(tmp_path: Path) -> None:
    output = tmp_path / "trees.txt"
    process = holder(output)
    try:
        with pytest.raises(BlockingIOError, match=rf"trees\.txt: being written by .*{process.pid}"):
            WorkFolder(output).__enter__()
    finally:
        process.kill()
        process.wait()


def test_the_lock_of_a_killed_process_is_no_obstacle_and_its_work_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "trees.txt"
    process = holder(output)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with WorkFolder(output) as work:
        assert (work.path / "trees").read_text() == "begun"
        work.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_we_did_not_write_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".trees.txt.treeformer"
    folder.mkdir()
    (folder / "diary").write_text("mine")
    with pytest.raises(ValueError, match="not written by treeformer; move it away"):
        WorkFolder(tmp_path / "trees.txt").__enter__()
    assert (folder / "diary").read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["diary"]


def test_a_lock_can_be_taken_again_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with Lock(path, "run: being trained"):
            assert path.read_text() == f"{os.getpid()}\n"
    assert not path.exists()


def test_a_lock_that_cannot_be_written_is_named_and_not_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = f"""
import resource
from pathlib import Path
from treeformer.storage import Lock
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
Lock(Path({str(path)!r}), "o: being written").__enter__()
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1] == f"OSError: [Errno 27] File too large: '{path}'"
    assert not path.exists()


def test_changed_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "train.arrow"
    path.write_bytes(b"one")
    checksums = {"train.arrow": sha256(path)}
    check_files(tmp_path, checksums)
    path.write_bytes(b"two!")
    with pytest.raises(ValueError, match=r"train\.arrow: damaged or changed"):
        check_files(tmp_path, checksums)
    path.unlink()
    with pytest.raises(ValueError, match=r"train\.arrow: missing"):
        check_files(tmp_path, checksums)
