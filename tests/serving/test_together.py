"""Many clients at once, and a shutdown while they wait."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serving.process import LONG, ServiceProcess, serving

TEXTS = [
    f"This {word} film has {count} good jokes." for word in ("dull", "fine", "odd") for count in range(10)
]


def test_requests_that_arrive_together_are_read_together(service: ServiceProcess) -> None:
    alone = [service.ask("classify", inputs=[text]).json()["answers"][0] for text in TEXTS]
    batches = service.metric("treeformer_batch_inputs_count")
    with ThreadPoolExecutor(len(TEXTS)) as pool:
        answers = list(pool.map(lambda text: service.ask("classify", inputs=[text]), TEXTS))
    assert service.metric("treeformer_batch_inputs_count") - batches < len(TEXTS) / 2
    for answer, expected in zip(answers, alone, strict=True):
        classified = answer.json()["answers"][0]
        assert classified["text"] == expected["text"]
        assert classified["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_shutdown_answers_the_accepted_requests(number: int) -> None:
    with serving("--batch", "1") as service, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(service.ask, "classify", inputs=[LONG]) for _ in range(4)]
        while service.metric("treeformer_requests_waiting") < 4:
            time.sleep(0.01)
        status = service.stop(number)
        assert [future.result().status_code for future in waiting] == [200] * 4
        assert status == 0
        with pytest.raises(httpx.ConnectError):
            service.ask("classify", inputs=["Too late."])
