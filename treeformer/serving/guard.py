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
from treeformer.serving.peers import Holding, Shares, is_local, peer_of

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
_NOT_SENT = 499  # the status that metrics count for a client that left before its answer
_DIGITS = 18  # of a Content-Length
_SMALL_BODY = 64 << 10  # bytes that every request may have
_BODY_BYTES = 64 << 20  # bytes of larger bodies, of all requests together


class Guard:
    """Wraps an application: what it does not admit never reaches the application.

    Args:
        application, limits, metrics: those of the service.
        token: bearer token required for ``/v1`` and ``/metrics``; None for an open service.
        local: answer only to names of this machine. This prevents DNS rebinding: another site's page could
            read responses.
        counted: paths that metrics count by name; they count all others as one.
    """

    def __init__(
        self,
        application: ASGIApp,
        limits: Limits,
        metrics: Metrics,
        *,
        token: str | None,
        local: bool,
        counted: frozenset[str],
    ) -> None:
        self.application = application
        self.limits = limits
        self.metrics = metrics
        self._token = token
        self._local = local
        self._counted = counted
        self._slots = Shares(limits.waiting, limits.share)
        self._body_bytes = Shares(_BODY_BYTES, _BODY_BYTES // 2)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, add headers to the response and record it."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        start = time.perf_counter()
        status = _NOT_SENT

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
        except asyncio.CancelledError:  # the service ends
            if status == _NOT_SENT:
                await refusal_response(unavailable("the service is ending"))(
                    scope, receive, send_with_headers
                )
        finally:
            path = scope["path"] if scope["path"] in self._counted else "other"
            self.metrics.record_response(path, status, time.perf_counter() - start)

    async def _admit(self, request: Request, send: Send) -> None:
        """Pass a request on to the application; RefusedError if it is not admitted."""
        path = request.scope["path"]
        self._check_host(request.headers)
        if path.startswith(SECURED_PATHS):
            self._check_token(request.headers)
        if not path.startswith("/v1/") or request.method != "POST":
            await self.application(request.scope, request.receive, send)
            return
        _check_content_type(request.headers)
        peer = peer_of(request.scope)
        holding = Holding(self._body_bytes, peer)
        try:
            body = await self._read_body(request, holding)
            await self._answer(request, body, peer, send)
        finally:
            holding.give_back()

    async def _answer(self, request: Request, body: bytes, peer: str, send: Send) -> None:
        """Answer a request that has arrived whole; it holds a slot until its answer is computed."""
        slot = Holding(self._slots, peer)
        if not slot.take():
            busy = self._slots.held >= self._slots.total
            whose = (
                f"{self._slots.held} requests" if busy else f"{self.limits.share} requests of this address"
            )
            message = f"{whose} are in progress already, try again later"
            raise unavailable(message, "waiting" if busy else "share")
        self.metrics.waiting.set(self._slots.held)

        def free_slot() -> None:
            slot.give_back()
            self.metrics.waiting.set(self._slots.held)

        async def send_without_slot(message: Message) -> None:
            free_slot()
            await send(message)

        try:
            await _unless_disconnected(self.application, request, body, send_without_slot)
        finally:
            free_slot()

    def _check_host(self, headers: Headers) -> None:
        if self._local and not is_local(_host_name(headers.get("host", ""))):
            raise RefusedError(400, "Host: this service answers on this machine only, see --host")

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise RefusedError(401, "Authorization: expected Bearer and the token of this service")

    async def _read_body(self, request: Request, holding: Holding) -> bytes:
        """The body of a request; RefusedError if it is too large or takes too long."""
        most, seconds = self.limits.body, self.limits.seconds
        too_large = RefusedError(413, f"body: expected at most {most:,} bytes", "body")
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(400, "Content-Length: expected a number of bytes")
        if len(length.lstrip("0")) > _DIGITS or int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise too_large
                    if len(body) > _SMALL_BODY and not holding.take(len(chunk)):
                        raise unavailable("too many large bodies are arriving, try again later", "body")
        except TimeoutError:
            raise RefusedError(408, f"body: expected within {seconds:g} seconds", "seconds") from None
        except ClientDisconnect:
            raise RefusedError(400, "body: the client closed the connection") from None
        return bytes(body)


async def _unless_disconnected(application: ASGIApp, request: Request, body: bytes, send: Send) -> None:
    """Run the application with the body of a request; cancel it when the client disconnects."""
    disconnected = asyncio.ensure_future(_disconnected(request.receive))
    answering = asyncio.ensure_future(application(request.scope, _replay(body, disconnected), send))
    try:
        await asyncio.wait((answering, disconnected), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not answering.done():
            answering.cancel()
        disconnected.cancel()
        await asyncio.wait((answering, disconnected))
    if not answering.cancelled():
        answering.result()


async def _disconnected(receive: Receive) -> Message:
    """Return when the client has disconnected."""
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


def refusal_response(error: RefusedError) -> JSONResponse:
    """The response of a refused request: a `Problem`, with the headers that its status needs."""
    problem = {"error": error.message, "limit": error.limit}
    return JSONResponse(problem, error.status, _REFUSAL_HEADERS.get(error.status))


def _host_name(host: str) -> str:
    """A host without its port, in lower case."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()


def _replay(body: bytes, disconnected: asyncio.Future[Message]) -> Receive:
    """A channel that gives the body that was read, and then the end of the connection."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await asyncio.shield(disconnected)

    return replayed


def _check_content_type(headers: Headers) -> None:
    """Refuse a body that does not call itself JSON; a page of another site could send it unasked."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        got = repr(kind[:100]) if kind else "nothing"
        raise RefusedError(415, f"Content-Type: expected application/json, got {got}")


async def _drain(request: Request) -> None:
    """Read and drop the rest of a body: a client that still writes would not see the response."""
    left = _DRAINED_BYTES
    with suppress(TimeoutError, ClientDisconnect, RuntimeError):  # RuntimeError: all of it has been read
        async with asyncio.timeout(_DRAINING_SECONDS):
            async for chunk in request.stream():
                left -= len(chunk)
                if left <= 0:
                    return
