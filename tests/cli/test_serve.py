"""``treeformer serve`` says in one line why it does not start, and that it loads and stops."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from tests.cli.command import treeformer
from tests.serving.process import serving


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = treeformer("serve", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr.startswith(f"treeformer: cannot listen on 127.0.0.1:{port}")
    assert done.stderr.count("\n") == 1


def test_a_run_that_is_none() -> None:
    done = treeformer("serve", "--port", "0", "--model", "/nowhere")
    assert done.returncode == 1
    loading, reason = done.stderr.splitlines()
    assert loading == "treeformer: loading …"
    assert reason == "treeformer: /nowhere: no such folder, expected a run of treeformer train"


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ImportError('No module named fastapi')\n")
    done = treeformer("serve", environment={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.getcwd()}"})
    assert done.returncode == 1
    assert "pip install '.[serve]' in the clone" in done.stderr
    assert "Traceback" not in done.stderr


def test_stopping_is_reported_after_a_signal() -> None:
    with serving("--processes", "1") as service:
        service.client.get("/healthz")
        assert service.stop(signal.SIGINT) == 0
    assert service.errors == "treeformer: stopping …\n"
