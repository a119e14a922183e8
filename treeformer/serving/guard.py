"""What stands before the service: who may ask, how much may be sent, how many may wait."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from treeformer.serving.errors import RefusedError, busy
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_DRAINED = 64 << 20  # bytes of a refused body that are read and dropped, so that the answer arrives
_DRAINING_SECONDS = 10.0


class Guard:
    """Wraps an application: checks host, token, room and size before it, adds headers after it.

    Args:
        application: what is guarded.
        limits: of the service.
        metrics: that count.
        token: without it ``/v1`` and ``/metrics`` answer 401; None for a service that is open.
        hosts: names by which the service may be called; None for any. Without them a page elsewhere whose
            name leads to this machine could read the answers.
        counted: paths that are counted by name; all others are one.
    """

    def __init__(
        self,
        application: Application,
        limits: Limits,
        metrics: Metrics,
        *,
        token: str | None,
        hosts: frozenset[str] | None,
        counted: frozenset[str],
    ) -> None:
        self.application = application
        self.limits = limits
        self.metrics = metrics
        self._token = token
        self._hosts = hosts
        self._counted = counted
        self._waiting = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            await self._admit(scope, receive, send_with_headers)
        finally:
            path = scope["path"] if scope["path"] in self._counted else "other"
            self.metrics.answered(path, status, time.perf_counter() - start)

    async def _admit(self, scope: Message, receive: Receive, send: Send) -> None:
        incoming = _Incoming(receive)
        try:
            self._check_caller(scope)
            if scope["path"].startswith("/v1/"):
                await self._question(scope, incoming, send)
            else:
                await self.application(scope, incoming, send)
        except RefusedError as error:
            await _refuse(error, scope, incoming, send)

    async def _question(self, scope: Message, incoming: _Incoming, send: Send) -> None:
        """One of the requests that wait for a model."""
        if self._waiting >= self.limits.waiting:
            raise busy(f"{self._waiting} requests are waiting already, try again later", "waiting")
        self._waiting += 1
        self.metrics.waiting.inc()
        try:
            body = await self._body(scope, incoming)
            await self.application(scope, _replay(body, incoming), send)
        finally:
            self._waiting -= 1
            self.metrics.waiting.dec()

    def _check_caller(self, scope: Message) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._hosts is not None and _name(host) not in self._hosts:
            raise RefusedError(400, "Host: this service answers on this machine only, see --host")
        if self._token is None or not scope["path"].startswith(("/v1/", "/metrics")):
            return
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token, self._token.encode()):
            raise RefusedError(401, "Authorization: expected Bearer and the token of this service")

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """The body of a request, refused if it is too large or takes too long."""
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.limits.body:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self.limits.body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise RefusedError(
                408, f"body: expected within {self.limits.seconds:g} seconds", "seconds"
            ) from None

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"body: expected at most {self.limits.body:,} bytes", "body")


class _Incoming:
    """What is received of a request, and whether there is more to come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.more = True

    async def __call__(self) -> Message:
        message = await self._receive()
        self.more = message.get("more_body", False)
        return message


def _name(host: str) -> str:
    """A host without its port, in lower case."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, and then whatever comes: that the client has gone."""
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed


async def _refuse(error: RefusedError, scope: Message, incoming: _Incoming, send: Send) -> None:
    """Answer, after the rest of the body was dropped: who still writes does not see an answer.

    Who was too slow is not waited for again.
    """
    left, slow = _DRAINED, error.status == 408
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAINING_SECONDS):
            while incoming.more and left > 0 and not slow:
                left -= len((await incoming()).get("body", b""))
    await error.response()(scope, incoming, send)
