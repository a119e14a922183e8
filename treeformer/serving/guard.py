"""``Guard``: admits requests. It checks the caller, counts the requests in progress and reads the bodies."""

from __future__ import annotations

import asyncio
import hmac
import time
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treeformer.serving.limits import Limits, RefusedError, unavailable
from treeformer.serving.metrics import Metrics

_POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_RESPONSE_HEADERS = [
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_REFUSAL_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},  # the rest of the request may still arrive
    503: {"Retry-After": "1"},
}
SECURED_PATHS = ("/v1/", "/metrics")  #: paths that need the token
_DRAINED_BYTES = 64 << 20  # of the body of a refused request
_DRAINING_SECONDS = 10.0


class Guard:
    """Wraps an application: what it does not admit never reaches the application.

    Args:
        application, limits, metrics: those of the service.
        token: bearer token required for ``/v1`` and ``/metrics``; None for an open service.
        hosts: names by which the service may be called; None for any. This prevents DNS rebinding: another
            site's page could read responses.
        counted: paths that metrics count by name; they count all others as one.
    """

    def __init__(
        self,
        application: ASGIApp,
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
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, add headers to the response and record it."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_RESPONSE_HEADERS]
            await send(message)

        request = Request(scope, receive)
        try:
            await self._admit(request, send_with_headers)
        except RefusedError as error:
            if error.status != 408:  # a client that was too slow is not waited for again
                await _drain(request)
            await refusal_response(error)(scope, receive, send_with_headers)
        finally:
            path = scope["path"] if scope["path"] in self._counted else "other"
            self.metrics.record_response(path, status, time.perf_counter() - start)

    async def _admit(self, request: Request, send: Send) -> None:
        """Pass a request on to the application; RefusedError if it is not admitted."""
        path = request.scope["path"]
        self._check_host(request.headers)
        if path.startswith(SECURED_PATHS):
            self._check_token(request.headers)
        if not path.startswith("/v1/"):
            await self.application(request.scope, request.receive, send)
            return
        if self._in_progress >= self.limits.waiting:
            message = f"{self._in_progress} requests are in progress already, try again later"
            raise unavailable(message, "waiting")
        self._in_progress += 1
        self.metrics.waiting.inc()
        try:
            body = await self._read_body(request)
            await self.application(request.scope, _replay(body, request.receive), send)
        finally:
            self._in_progress -= 1
            self.metrics.waiting.dec()

    def _check_host(self, headers: Headers) -> None:
        if self._hosts is not None and _host_name(headers.get("host", "")) not in self._hosts:
            raise RefusedError(400, "Host: this service answers on this machine only, see --host")

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise RefusedError(401, "Authorization: expected Bearer and the token of this service")

    async def _read_body(self, request: Request) -> bytes:
        """The body of a request; RefusedError if it is too large or takes too long."""
        most, seconds = self.limits.body, self.limits.seconds
        too_large = RefusedError(413, f"body: expected at most {most:,} bytes", "body")
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise RefusedError(408, f"body: expected within {seconds:g} seconds", "seconds") from None
        except ClientDisconnect:
            raise RefusedError(400, "body: the client closed the connection") from None
        return bytes(body)


def refusal_response(error: RefusedError) -> JSONResponse:
    """The response of a refused request: a `Problem`, with the headers that its status needs."""
    problem = {"error": error.message, "limit": error.limit}
    return JSONResponse(problem, error.status, _REFUSAL_HEADERS.get(error.status))


def _host_name(host: str) -> str:
    """A host without its port, in lower case."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()


def _replay(body: bytes, receive: Receive) -> Receive:
    """A channel that gives the body that was read, and then whatever else arrives."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


async def _drain(request: Request) -> None:
    """Read and drop the rest of a body: a client that still writes would not see the response."""
    left = _DRAINED_BYTES
    with suppress(TimeoutError, ClientDisconnect, RuntimeError):  # RuntimeError: all of it has been read
        async with asyncio.timeout(_DRAINING_SECONDS):
            async for chunk in request.stream():
                left -= len(chunk)
                if left <= 0:
                    return
