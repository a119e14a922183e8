"""The service with any request: never a status of 500 or above except 503, and it goes on answering."""

from __future__ import annotations

import json
import random
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.serving.process import ServiceProcess
from tests.torture.campaigns import Campaign, Case, Failure
from tests.torture.mutation import (
    characters,
    damaged,
    damaged_bytes,
    damaged_value,
    dumped,
    line_of_text,
    random_tree,
)

PATHS = ["/v1/classify", "/v1/models", "/", "/healthz", "/metrics", "/docs", "/openapi.json", "/../x"]
HEADERS = [
    *(
        "Content-Type: application/json",
        "Content-Type: text/plain",
        "Authorization: Bearer x",
        "Expect: 100-continue",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Content-Length: 0",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
    ),
    *(
        "Connection: close",
        "Connection: upgrade",
        "Upgrade: websocket",
        "Range: bytes=0-",
        "Accept-Encoding: gzip",
    ),
    *(
        "Host: ",
        "Host: a\tb",
        "X: \x01",
        "Origin: http://evil.example",
        "Content-Encoding: gzip",
        f"Y: {'y' * 3000}",
    ),
]
PLAIN = {"inputs": ["A gorgeous, witty, seductive movie."]}
SECONDS = 40


class Service(Campaign):
    """Random bodies, headers, methods and paths over HTTP."""

    name = "service"
    share = 3.0

    def set_up(self, folder: Path) -> None:
        self.service = ServiceProcess("--processes", "1")
        address = urlsplit(self.service.address)
        self.address = (address.hostname or "127.0.0.1", address.port or 80)

    def run(self, case: Case) -> None:
        request = _request(case.random)
        case.keep("request", request)
        answer = self._send(request, hasty=case.random.random() < 0.1)
        status = _status(answer)
        if status is not None:
            case.check(status < 500 or status == 503, f"status {status}: {answer[:1000]!r}")
            case.check(b"Traceback" not in answer, f"a traceback: {answer[:2000]!r}")
        if case.number % 20 == 0:
            case.check(self.service.process.poll() is None, f"it has ended: {self.service.errors[-3000:]}")
            answer = self._send(_valid(), complete=True)
            case.check(_status(answer) == 200, f"no answer to a plain request: {answer[:300]!r}")
            right = b'"label":"positive"' in answer
            case.check(right, f"another answer to a plain request: {answer[:1000]!r}")
        case.check("Traceback" not in self.service.errors, f"{self.service.errors[-3000:]}")
        self.service.errors = ""

    def tear_down(self) -> None:
        if hasattr(self, "service"):
            self.service.close()

    def _send(self, request: bytes, *, hasty: bool = False, complete: bool = False) -> bytes:
        """The first part of the answer; nothing if the client is hasty and leaves at once.

        If the request is complete and closes the connection, the whole answer is read; otherwise the service
        is told that nothing follows.
        """
        try:
            with socket.create_connection(self.address, timeout=SECONDS) as client:
                with suppress(ConnectionError):  # it may answer before it has read everything
                    client.sendall(request)
                if hasty:
                    return b""
                if not complete:
                    client.shutdown(socket.SHUT_WR)
                with suppress(ConnectionError):
                    answer = client.recv(1 << 16)
                    while complete and (part := client.recv(1 << 16)):
                        answer += part
                    return answer
                return b""
        except TimeoutError as error:
            raise Failure(f"no answer in {SECONDS} s") from error
        except OSError as error:
            if self.service.process.poll() is not None:
                raise Failure(f"it has ended: {self.service.errors[-3000:]}") from error
            return b""


def _status(answer: bytes) -> int | None:
    fields = answer.split(b" ", 2)
    if answer.startswith(b"HTTP/") and len(fields) > 1 and fields[1].isdigit():
        return int(fields[1])
    return None


def _valid() -> bytes:
    body = json.dumps(PLAIN).encode()
    lines = ["POST /v1/classify HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


def _request(generator: random.Random) -> bytes:
    """A request: mostly well-formed around a damaged body."""
    path, question = generator.choice(
        [
            ("/v1/classify", {"inputs": [line_of_text(generator) for _ in range(generator.randint(0, 3))]}),
            ("/v1/classify", {"inputs": [str(random_tree(generator))], "trees": True, "exact": True}),
            ("/v1/classify", {"inputs": [line_of_text(generator)], "shape": "random", "seed": 7}),
            ("/v1/parse", {"inputs": [line_of_text(generator)], "parser": "embedded"}),
            ("/v1/translate", {"inputs": [line_of_text(generator)], "attention": True}),
            ("/v1/attention", {"input": characters(generator, 30), "part": {"kind": "word", "index": 0}}),
        ]
    )
    if generator.random() < 0.6:
        question = damaged_value(generator, question)
    body = dumped(question).encode("utf-8", "replace")
    if generator.random() < 0.3:
        body = damaged_bytes(generator, body)
    if generator.random() < 0.1:
        path = generator.choice([*PATHS, f"/{characters(generator, 4)}"])
    if generator.random() < 0.05:
        path = damaged(generator, path)
    method = generator.choice(["POST"] * 12 + ["GET", "PUT", "HEAD", "OPTIONS", "BREW", ""])
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if generator.random() < 0.95:
        lines.append(f"Content-Length: {len(body) + generator.choice([0] * 12 + [1, -1, 1000])}")
    if generator.random() < 0.25:
        lines += generator.choices(HEADERS, k=generator.randint(1, 3))
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
    if generator.random() < 0.05:
        head = damaged_bytes(generator, head)
    return head + body
