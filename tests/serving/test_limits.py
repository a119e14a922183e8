"""A refusal names the limit that was exceeded; requests within the limits are answered."""

from __future__ import annotations

import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.serving.process import LONG, TEXT, ServiceProcess, serving


def test_what_is_within_all_limits_is_answered(narrow: ServiceProcess) -> None:
    assert narrow.ask("classify", inputs=[TEXT] * 3).status_code == 200


@pytest.mark.parametrize(
    ("limit", "question"),
    [
        ("characters", {"inputs": ["good " * 60]}),
        ("inputs", {"inputs": [TEXT] * 4}),
        ("words", {"inputs": ["a b c d e f g h i j k l m"]}),
        ("sentences", {"inputs": ["Yes it is. No it is not. Well then."]}),
        ("words", {"inputs": ["(X " * 49 + "(A a)" + ")" * 49], "trees": True}),  # four nodes a word
    ],
)
def test_an_exceeded_limit_is_named(narrow: ServiceProcess, limit: str, question: dict[str, Any]) -> None:
    answer = narrow.ask("classify", **question)
    assert answer.status_code == 422
    assert answer.json()["limit"] == limit
    assert "expected at most" in answer.json()["error"]


def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(
    narrow: ServiceProcess,
) -> None:
    content = b'{"inputs": ["' + b"a" * 3000 + b'"]}'
    headers = {"Content-Type": "application/json"}
    for body in (content, iter([content[:1500], content[1500:]])):
        answer = narrow.client.post("/v1/classify", content=body, headers=headers)
        assert (answer.status_code, answer.json()["limit"]) == (413, "body")


def connection(service: ServiceProcess, body: bytes) -> socket.socket:
    """A request whose body has not arrived yet."""
    place = urlsplit(service.address)
    opened = socket.create_connection((place.hostname, place.port), 120)
    head = (
        f"POST /v1/classify HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer secret\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    opened.sendall(head.encode())
    return opened


def received(opened: socket.socket) -> bytes:
    answer = b""
    while part := opened.recv(65536):
        answer += part
    opened.close()
    return answer


def test_a_full_service_refuses_with_a_time_to_retry_and_finishes_what_it_accepted() -> None:
    with serving("--waiting", "2", "--share", "2", "--processes", "1", "--seconds", "120") as service:
        body = json.dumps({"inputs": [LONG] * 2}).encode()
        waiting = [connection(service, body) for _ in range(2)]
        for opened in waiting:
            opened.sendall(body)
        while service.metric("treeformer_requests_waiting") < 2:
            time.sleep(0.01)
        refused = service.ask("classify", inputs=[TEXT])
        assert (refused.status_code, refused.json()["limit"]) == (503, "waiting")
        assert int(refused.headers["Retry-After"]) >= 1
        assert service.client.get("/healthz").status_code == 200
        assert all(received(opened).startswith(b"HTTP/1.1 200") for opened in waiting)
        assert service.ask("classify", inputs=[TEXT]).status_code == 200


def test_an_answer_that_is_too_large_is_refused() -> None:
    with serving("--answer", "5000", "--processes", "1") as service:
        assert service.ask("classify", inputs=[TEXT]).status_code == 200
        refused = service.ask("classify", inputs=[TEXT] * 8)
        assert (refused.status_code, refused.json()["limit"]) == (422, "answer")


def test_time_is_limited() -> None:
    with serving("--seconds", "0.02") as service:
        late = service.ask("classify", inputs=["this is a long and winding film . " * 30])
        assert (late.status_code, late.json()["limit"]) == (503, "seconds")
        assert "Retry-After" in late.headers
        opened = connection(service, b"{}")
        assert received(opened).startswith(b"HTTP/1.1 408")
        assert service.client.get("/healthz").status_code == 200


def test_a_token_is_required(narrow: ServiceProcess) -> None:
    for given in ("", "Bearer wrong", "secret"):
        answer = narrow.client.post("/v1/classify", json={"inputs": [TEXT]}, headers={"Authorization": given})
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert narrow.client.get("/metrics", headers={"Authorization": "bearer secret"}).status_code == 200
    assert narrow.client.get("/metrics", headers={"Authorization": ""}).status_code == 401
    assert narrow.client.get("/healthz", headers={"Authorization": ""}).status_code == 200
    assert narrow.client.get("/", headers={"Authorization": ""}).status_code == 200


def test_a_service_on_this_machine_does_not_answer_to_other_names(service: ServiceProcess) -> None:
    assert service.client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 400
    assert service.client.get("/v1/models", headers={"Host": "LocalHost:1"}).status_code == 200
