"""Many clients at once, and an end while they wait."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.cli.command import treeformer
from tests.serving.process import ServiceProcess, serving

TEXTS = [
    f"This {word} film has {count} good jokes." for word in ("dull", "fine", "odd") for count in range(10)
]


def asked(service: ServiceProcess, text: str) -> httpx.Response:
    with httpx.Client(base_url=service.address, timeout=150) as client:
        return client.post("/v1/classify", json={"inputs": [text]})


def test_requests_that_arrive_together_are_read_together(service: ServiceProcess) -> None:
    alone = [service.ask("classify", inputs=[text]).json()["answers"][0] for text in TEXTS]
    batches = service.metric("treeformer_batch_inputs_count")
    with ThreadPoolExecutor(len(TEXTS)) as pool:
        answers = list(pool.map(lambda text: asked(service, text), TEXTS))
    assert service.metric("treeformer_batch_inputs_count") - batches < len(TEXTS) / 2
    for answer, expected in zip(answers, alone, strict=True):
        own = answer.json()["answers"][0]
        assert own["text"] == expected["text"]
        assert own["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_end_finishes_what_was_accepted(number: int) -> None:
    long = "this is a long and winding film that never ends , " * 30
    with serving("--batch", "1") as service, ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(asked, service, long) for _ in range(12)]
        while service.metric("treeformer_requests_waiting") < 12:
            time.sleep(0.01)
        status = service.stop(number)
        assert [future.result().status_code for future in waiting] == [200] * 12
        assert status == 0
        with pytest.raises(httpx.ConnectError):
            asked(service, "Too late.")


def test_a_port_that_is_taken_and_a_run_that_is_none_are_one_line_each(service: ServiceProcess) -> None:
    port = service.address.rpartition(":")[2]
    taken = treeformer("serve", "--port", port)
    assert taken.returncode == 1
    assert taken.stderr.startswith(f"treeformer: cannot listen on 127.0.0.1:{port}")
    missing = treeformer("serve", "--port", "0", "--model", "/nowhere")
    assert missing.stderr == "treeformer: /nowhere: no such folder, expected a run of treeformer train\n"


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ImportError('No module named fastapi')\n")
    done = treeformer("serve", environment={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.getcwd()}"})
    assert done.returncode == 1
    assert "pip install 'treeformer[serve]'" in done.stderr
    assert "Traceback" not in done.stderr
