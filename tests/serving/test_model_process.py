"""A model process that ends is replaced, and its requests are refused with a time to retry."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from tests.serving.process import LONG, TEXT, ServiceProcess, serving
from treeformer.machine import cores
from treeformer.serving.limits import Limits, RefusedError
from treeformer.serving.model_process import ModelProcess, ModelRequest, ProcessSettings
from treeformer.serving.schema import ClassifyRequest, ParseRequest
from treeformer.serving.server import MOST_PROCESSES
from treeformer.serving.text_parser import ParserWorker

PATIENT = ("--seconds", "120")  # on a busy machine a process loads for long


def model_processes(service: ServiceProcess) -> list[psutil.Process]:
    """The processes that hold models, which are large."""
    children = psutil.Process(service.process.pid).children()
    return [child for child in children if child.memory_info().rss > 200 << 20]


def test_a_killed_process_is_replaced_and_its_requests_are_to_be_retried() -> None:
    with serving(*PATIENT, "--processes", "1", "--batch", "1") as service, ThreadPoolExecutor(8) as pool:
        (first,) = model_processes(service)
        waiting = [pool.submit(service.ask, "classify", inputs=[LONG]) for _ in range(8)]
        while service.metric("treeformer_batch_inputs_count") < 1:
            time.sleep(0.005)
        first.kill()
        answers = [future.result() for future in waiting]
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200, 503}
        assert statuses.count(503) == 1  # the one that was being read; the others waited for the new process
        refused = next(answer for answer in answers if answer.status_code == 503)
        assert "try again" in refused.json()["error"]
        assert "Retry-After" in refused.headers
        assert service.metric("treeformer_processes_ended_total") == 1
        (second,) = model_processes(service)
        assert second.pid != first.pid
        assert service.stop() == 0


def test_a_process_killed_at_rest_is_replaced_before_the_next_request() -> None:
    with serving(*PATIENT, "--processes", "2") as service:
        for process in model_processes(service):
            process.kill()
        while service.metric("treeformer_processes_ended_total") < 2:
            time.sleep(0.05)
        assert service.ask("classify", inputs=[TEXT]).status_code == 200
        assert service.stop() == 0


def test_a_service_that_is_killed_leaves_no_process_behind() -> None:
    with serving() as service:
        processes = model_processes(service)
        assert len(processes) == min(cores(), MOST_PROCESSES)
        service.stop(signal.SIGKILL)
        _, alive = psutil.wait_procs(processes, timeout=20)
        assert not alive


@pytest.fixture
def models() -> Iterator[ModelProcess]:
    process = ModelProcess(ProcessSettings(device="cpu", threads=1), lambda: None)
    process.ready()
    yield process
    process.close()


def test_a_process_takes_the_trees_of_another_parser(models: ModelProcess) -> None:
    worker = ParserWorker("en", "en", Limits())
    refused, parsed = worker([ParseRequest(inputs=["a " * 401]), ParseRequest(inputs=[TEXT])], 60)
    worker.close()
    assert isinstance(refused, RefusedError)
    assert isinstance(parsed, list)
    request = ClassifyRequest(inputs=[TEXT], parser="corenlp")
    by_worker, by_model = models([ModelRequest(request, parsed), ModelRequest(request)], 60)
    assert json.loads(by_worker) == json.loads(by_model)
    (response,) = models([ModelRequest(ParseRequest(inputs=[TEXT], parser="corenlp"), parsed)], 60)
    expected = {"text": TEXT, "trees": [str(tree) for tree in parsed[0].trees], "failures": []}
    assert json.loads(response) == {"parser": "corenlp", "answers": [expected]}


def test_a_process_that_hangs_is_ended_however_much_it_was_sent(
    models: ModelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeformer.serving.model_process._PATIENCE", 0.5)
    (child,) = (process for process in psutil.Process().children() if process.pid == models._process.pid)
    child.suspend()
    (answer,) = models([ModelRequest(ParseRequest(inputs=["more than a pipe holds " * 100_000]))], 0.0)
    assert isinstance(answer, RefusedError)
    assert answer.status == 503
    models.ready()
    assert models._process.pid != child.pid


def test_a_process_that_cannot_be_started_is_started_later(
    models: ModelProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(process: Any) -> None:
        raise OSError("Cannot allocate memory")

    models._process.kill()
    models._process.join()
    with monkeypatch.context() as broken:
        broken.setattr("multiprocessing.context.SpawnProcess.start", no_memory)
        for _ in range(2):
            with pytest.raises(OSError, match="Cannot allocate"):
                models.ready()
    models.ready()
    assert models._process.is_alive()


def test_a_batch_that_nobody_waits_for_is_abandoned(models: ModelProcess) -> None:
    request = ModelRequest(ClassifyRequest(inputs=[LONG] * 32))
    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(models, [request], 600)
        while models._batch < 1:
            time.sleep(0.01)
        models.abandon()
        (answer,) = answers.result()
    assert isinstance(answer, RefusedError)
    (response,) = models([ModelRequest(ClassifyRequest(inputs=[TEXT]))], 600)
    assert json.loads(response)["answers"]
