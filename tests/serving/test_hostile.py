"""Clients that do not read, do not finish or ask too much take nothing from others."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from tests.serving.process import LONG, TEXT, ServiceProcess, serving
from tests.serving.wire import connect, head, received, request, wait_until

OTHER = "127.0.0.9"  # another address of this machine, and so another peer
LARGE = "(S (NN film) " * 39 + "(NN film)" + ")" * 39  # its answer is large, and soon computed


@pytest.fixture(scope="module")
def small() -> Iterator[ServiceProcess]:
    """With eight slots, and little time for everything."""
    with serving("--waiting", "8", "--seconds", "12", "--processes", "1") as service:
        service.ask("classify", inputs=[TEXT])
        yield service


def in_progress(service: ServiceProcess) -> float:
    return service.metric("treeformer_requests_waiting")


def can_send(opened: socket.socket, data: bytes) -> bool:
    """Whether a connection still takes what is sent; it is sent."""
    try:
        opened.sendall(data)
    except OSError:
        return False
    return True


def unread(service: ServiceProcess, requests: int, source: str = "127.0.0.1") -> socket.socket:
    """A connection whose answers, larger than its buffers, are not read."""
    opened = connect(service, source=source, buffer=4096)
    opened.sendall(request(inputs=[LARGE] * 32, trees=True) * requests)
    return opened


def test_answers_that_are_not_read_hold_no_slot(small: ServiceProcess) -> None:
    clients = [unread(small, 3) for _ in range(8)]
    wait_until(lambda: in_progress(small) > 0, "they have arrived")
    wait_until(lambda: small.ask("classify", inputs=[TEXT]).status_code == 200, "a slot is free", 60)
    for opened in clients:
        opened.close()


def test_a_connection_whose_answer_is_not_read_is_closed(small: ServiceProcess) -> None:
    ended = small.metric("treeformer_connections_ended_total")
    opened = unread(small, 1)
    wait_until(lambda: small.metric("treeformer_connections_ended_total") > ended, "it is ended", 60)
    opened.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_ends_in_time_whatever_clients_do(number: int) -> None:
    with serving("--processes", "1") as service:
        service.ask("classify", inputs=[TEXT])
        clients = [unread(service, 3) for _ in range(4)]
        for _ in range(3):
            slow = connect(service)
            slow.sendall(head(1000) + b"{")
            clients.append(slow)
        half = connect(service)
        half.sendall(b"POST /v1/cl")
        clients.append(half)
        costly = connect(service)
        costly.sendall(request(inputs=[LONG] * 32))
        clients.append(costly)
        time.sleep(2)
        start = time.monotonic()
        assert service.stop(number) == 0
        assert time.monotonic() - start < 15
        for opened in clients:
            opened.close()


def test_bodies_that_do_not_arrive_hold_no_slot(small: ServiceProcess) -> None:
    clients = [connect(small) for _ in range(16)]
    for opened in clients:
        opened.sendall(head(1000) + b'{"inputs": [')
    assert small.ask("classify", inputs=[TEXT]).status_code == 200
    assert [received(opened)[:12] for opened in clients] == [b"HTTP/1.1 408"] * 16


def test_heads_that_do_not_arrive_are_dropped(small: ServiceProcess) -> None:
    clients = [connect(small) for _ in range(3)]
    clients[1].sendall(b"POST /v1/classify HTTP/1.1\r\nHost: local")
    clients[2].sendall(b"\r\n")
    for opened in clients:
        opened.settimeout(60)
        assert received(opened)[:12] in (b"", b"HTTP/1.1 408")


def test_a_head_that_trickles_in_has_one_deadline(small: ServiceProcess) -> None:
    opened = connect(small)
    opened.sendall(b"GET /healthz HTTP/1.1\r\nX: ")

    wait_until(lambda: not can_send(opened, b"a"), "the connection is closed", 60)
    opened.close()


@pytest.mark.parametrize(
    "lines",
    [b"X: " + b"a" * 100_000, b"X: a\r\n" * 1000, b"a" * 100_000 + b": x"],
    ids=["one long value", "many", "one long name"],
)
def test_a_large_head_is_refused(small: ServiceProcess, lines: bytes) -> None:
    opened = connect(small)
    opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + lines)
    answer = received(opened)
    assert answer.startswith(b"HTTP/1.1 431"), answer[:200]
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error", "limit"}


def test_trailers_of_a_body_are_limited(small: ServiceProcess) -> None:
    opened = connect(small)
    fields = "Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    opened.sendall(f"POST /v1/classify HTTP/1.1\r\n{fields}\r\n\r\n2\r\n{{}}\r\n0\r\n".encode())
    sent = 0
    while can_send(opened, b"X" * 4096) and sent < 1 << 20:
        sent += 4096
        time.sleep(0.01)
    assert sent < 1 << 20
    opened.close()


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1, 1", "x", "+5", "\u0661"])
def test_a_length_that_is_no_number_of_bytes_is_a_bad_request(small: ServiceProcess, length: str) -> None:
    opened = connect(small)
    opened.sendall(head(length))
    answer = received(opened)
    assert answer.startswith(b"HTTP/1.1 400"), answer[:200]
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error", "limit"}
    assert small.errors == ""


def test_work_for_a_client_that_has_left_is_not_begun() -> None:
    with serving("--processes", "1", "--seconds", "60") as service:
        costly = request(inputs=[LONG] * 3)
        clients = [connect(service) for _ in range(8)]
        for opened in clients:
            opened.sendall(costly)
        wait_until(lambda: in_progress(service) == 8, "they have arrived")
        for opened in clients:
            opened.close()
        wait_until(lambda: in_progress(service) == 0, "the slots are free", 5)
        assert service.ask("classify", inputs=[TEXT]).status_code == 200
        assert service.metric("treeformer_batch_inputs_count") <= 3


def test_one_peer_cannot_take_all_slots() -> None:
    with serving("--waiting", "4", "--processes", "1", "--seconds", "100") as service:
        costly = request(inputs=[LONG] * 3)
        clients = [connect(service, source=OTHER) for _ in range(6)]
        for opened in clients:
            opened.sendall(costly)
        wait_until(lambda: in_progress(service) >= 2, "the slots of the other peer are taken")
        assert in_progress(service) == 2
        answer = service.ask("classify", inputs=[TEXT])
        assert answer.status_code == 200, answer.text
        for opened in clients:
            opened.close()


WRONG = {
    "items": b'{"inputs": [' + b"1," * 520_000 + b"1]}",
    "keys": b'{"inputs": ["a"], ' + b",".join(b'"%06d": 1' % number for number in range(80_000)) + b"}",
    "a number": b'{"inputs": ["a"], "seed": ' + b"9" * 1_000_000 + b"}",
    "a part": b'{"inputs": ["a"], "part": [' + b"[]," * 340_000 + b"[]]}",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_large_wrong_body_costs_little(small: ServiceProcess, name: str) -> None:
    """In CPU time of the process with the event loop: no other request is answered meanwhile."""
    times = psutil.Process(small.process.pid).cpu_times
    before = sum(times()[:2])
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{small.address}/v1/classify", content=WRONG[name], headers=headers, timeout=60)
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 1000
    assert sum(times()[:2]) - before < 0.5


def test_a_request_behind_another_is_not_served_on_the_same_connection(small: ServiceProcess) -> None:
    opened = connect(small)
    opened.sendall(request(inputs=[TEXT]) * 3)
    answer = received(opened)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"connection: close" in answer.lower()


def test_one_peer_with_many_connections_loses_its_oldest() -> None:
    with serving("--connections", "20", "--processes", "1") as service:
        held = [connect(service, source=OTHER) for _ in range(40)]
        assert service.ask("classify", inputs=[TEXT]).status_code == 200
        assert service.metric("treeformer_connections") <= 20
        assert received(held[0]) == b""
        for opened in held[1:]:
            opened.close()
