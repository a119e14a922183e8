"""Bad bodies get a refusal in JSON without a traceback, and the service stays up."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serving.process import TEXT, ServiceProcess

PATHS = ("parse", "classify", "translate", "attention")


def question(text: str) -> bytes:
    return json.dumps({"inputs": [text]}).encode()


BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "invalid UTF-8": b'{"inputs": ["\xff\xfe"]}',
    "a lone surrogate": b'{"inputs": ["\\ud800"]}',
    "nested lists": b'{"inputs": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "10 MB": b'{"inputs": ["' + b"a" * 10_000_000 + b'"]}',
    "100,000 brackets": b'{"trees": true, "inputs": ["' + b"(" * 100_000 + b'"]}',
    "another type": b'{"inputs": 3}',
    "a number for a text": b'{"inputs": [3]}',
    "no inputs": b'{"inputs": []}',
    "an unknown key": b'{"inputs": ["a"], "file": "/etc/passwd"}',
    "a path for a model": b'{"inputs": ["a"], "model": "../../../etc"}',
    "an infinite number": b'{"inputs": ["a"], "seed": 1e999}',
    "a huge number": b'{"inputs": ["a"], "seed": ' + b"9" * 5000 + b"}",
    "deeper brackets": json.dumps({"trees": True, "inputs": ["(S " * 2000 + "(N n)" + ")" * 2000]}).encode(),
    "white space": question(" \n\t "),
    "no tree": json.dumps({"trees": True, "inputs": ["(S (NP"]}).encode(),
    "a tree of traces": json.dumps({"trees": True, "inputs": ["(S (-NONE- *))"]}).encode(),
}
READABLE = {
    "NUL": question("a\0b good \0 film"),
    "control characters": question("a \x07 good \x1b[31m film \x7f"),
    "a no-break space": question("\u00a0"),
    "directions": question("\u202egood\u202c film\u200b\ufeff"),
    "emoji": question("👩‍👩‍👧‍👦 👍🏽 good"),
    "one long word": question("a" * 7000),
    "deep brackets": json.dumps({"trees": True, "inputs": ["(S " * 600 + "(N n)" + ")" * 600]}).encode(),
    "brackets": question("()(()) ) ( film"),
    "a look-alike": question("-LRB- <script>alert(1)</script>"),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body_is_refused(service: ServiceProcess, path: str, name: str) -> None:
    answer = service.client.post(
        f"/v1/{path}", content=BODIES[name], headers={"Content-Type": "application/json"}
    )
    assert 400 <= answer.status_code < 500, answer.text
    assert set(answer.json()) == {"error", "limit"}
    assert "Traceback" not in answer.text


def test_a_body_that_is_not_json_differs_from_a_wrong_request(service: ServiceProcess) -> None:
    answer = service.client.post(
        "/v1/parse", content=b'{"inputs": oh}', headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json()["error"] == "body: expected JSON, got something else at character 11"


@pytest.mark.parametrize("path", ["parse", "classify", "translate"])
@pytest.mark.parametrize("name", READABLE)
def test_strange_text_is_answered(service: ServiceProcess, path: str, name: str) -> None:
    answer = service.client.post(
        f"/v1/{path}", content=READABLE[name], headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (200, 422), answer.text
    answer.json()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_other_kinds_of_body_are_refused(service: ServiceProcess, kind: str) -> None:
    answer = service.client.post("/v1/classify", content=question(TEXT), headers={"Content-Type": kind})
    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize(
    "path", ["/page/../guard.py", "/page/%2e%2e/guard.py", "/page//etc/passwd", "/v1", "/x"]
)
def test_no_path_names_a_file(service: ServiceProcess, path: str) -> None:
    assert httpx.get(service.address + path).status_code == 404


def test_many_large_bodies_take_little_memory(service: ServiceProcess) -> None:
    service.ask("classify", inputs=[TEXT])
    before = service.memory()

    def send(_: int) -> int:
        with httpx.Client(base_url=service.address, timeout=60) as client:
            headers = {"Content-Type": "application/json"}
            return client.post("/v1/classify", content=BODIES["10 MB"], headers=headers).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = set(pool.map(send, range(48)))
    assert statuses <= {413, 503}
    assert service.memory() - before < 200


def test_nothing_of_this_was_an_error_of_the_service(service: ServiceProcess) -> None:
    assert service.ask("classify", inputs=[TEXT]).status_code == 200
    assert service.errors == ""
