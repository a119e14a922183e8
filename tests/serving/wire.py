"""Requests as bytes on a socket, for what an HTTP client would not do."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.serving.process import ServiceProcess


def connect(
    service: ServiceProcess, *, source: str = "127.0.0.1", buffer: int | None = None
) -> socket.socket:
    """A connection from an address of this machine; ``buffer`` limits what it receives unread."""
    place = urlsplit(service.address)
    opened = socket.socket()
    opened.settimeout(60)
    if buffer is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    opened.bind((source, 0))
    opened.connect((place.hostname, place.port))
    return opened


def head(length: int | str, *lines: str, path: str = "classify") -> bytes:
    """The head of a request with a body of JSON."""
    fields = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {length}", *lines]
    return "\r\n".join([f"POST /v1/{path} HTTP/1.1", *fields, "", ""]).encode()


def request(*lines: str, path: str = "classify", **question: Any) -> bytes:
    """A whole request."""
    body = json.dumps(question).encode()
    return head(len(body), *lines, path=path) + body


def received(opened: socket.socket) -> bytes:
    """What arrives until the service closes the connection."""
    answer = b""
    try:
        while part := opened.recv(65536):
            answer += part
    except ConnectionResetError:
        pass
    opened.close()
    return answer


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Return when the condition holds; an error if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} seconds: {what}")
        time.sleep(0.02)
