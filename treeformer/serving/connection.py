"""``Connection``: HTTP/1.1 of uvicorn with the limits and deadlines that it lacks.

uvicorn limits neither the head of a request nor the time for it, and waits for ever for a client that does
not read its answer. A connection here ends when it is late with any of these. The deadlines are checked by
`Connections.check`, once a second.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treeformer.serving.limits import Limits, RefusedError
from treeformer.serving.metrics import Metrics
from treeformer.serving.peers import peer_name

_SLICE = 4096  # bytes of a head that are parsed between two looks at its size
_LINGER = 2.0  # seconds that a refused client has to read why
_UNSENT = 128 << 20  # bytes of answers that wait to be read by all clients


class Connections:
    """All connections of a service, by peer.

    When there are too many, the peer with the most loses the one that has waited longest for its client.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.limits = limits
        self.metrics = metrics
        self._by_peer: dict[str, dict[Connection, None]] = {}  # in the order of their arrival

    def __iter__(self) -> Iterator[Connection]:
        for connections in list(self._by_peer.values()):
            yield from list(connections)

    def __len__(self) -> int:
        return sum(map(len, self._by_peer.values()))

    def add(self, connection: Connection) -> None:
        """Add a new connection; another is ended if there are too many."""
        self._by_peer.setdefault(connection.peer, {})[connection] = None
        self.metrics.connections.inc()
        if len(self) > self.limits.connections:
            self._end_one("connections")

    def remove(self, connection: Connection) -> None:
        """Remove a connection that has ended; one that is not there does no harm."""
        connections = self._by_peer.get(connection.peer, {})
        if connection not in connections:
            return
        del connections[connection]
        self.metrics.connections.dec()
        if not connections:
            del self._by_peer[connection.peer]

    def check(self) -> None:
        """End connections that are late, and some if clients leave too much unread."""
        now = time.monotonic()
        for connection in self:
            connection.check(now)
        unsent = sum(connection.unsent() for connection in self)
        while unsent > _UNSENT:
            peer = max(self._by_peer.values(), key=lambda held: sum(one.unsent() for one in held))
            worst = max(peer, key=Connection.unsent)
            unsent -= worst.unsent()
            worst.end("unread")

    def _end_one(self, reason: str) -> None:
        for connections in sorted(self._by_peer.values(), key=len, reverse=True):
            for connection in connections:
                if not connection.has_request():
                    connection.end(reason)
                    return


class Connection(HttpToolsProtocol):
    """One connection, with one request at a time: what is sent behind a request is not read."""

    def __init__(self, connections: Connections, **settings: Any) -> None:
        super().__init__(**settings)
        self._all = connections
        self._limits = connections.limits
        self._head_seconds = min(self._limits.head_seconds, self._limits.seconds)
        self.peer = ""
        self._deaf = False  # what arrives is dropped
        self._refusal: RefusedError | None = None
        self._in_head = False
        self._in_body = False
        self._quiet = 0  # bytes since the last part of a request that was complete
        self._receiving_until: float | None = None
        self._sending_until: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = peer_name(self.client[0] if self.client else "")
        self._receiving_until = time.monotonic() + self._head_seconds
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        self._deaf = True
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived; the head of a request in slices, so that it stays small."""
        self._unset_keepalive_if_required()
        while data and not self._deaf:
            if self._is_answering():  # bytes behind a request
                self._close_after_answer()
                return
            slice_ = data if self._in_body else data[:_SLICE]
            data = data[len(slice_) :]
            self._quiet += len(slice_)
            self._parse(slice_)
            if self._quiet > self._limits.head and not self._deaf:
                message = f"head: expected at most {self._limits.head:,} bytes"
                self._refuse(RefusedError(431, message, "head"))
        if not self._deaf and self._receiving_until is None and not self._is_answering():
            self._receiving_until = time.monotonic() + self._head_seconds

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # no other protocol is spoken: the request is answered as it is
            self._close_after_answer()
        except httptools.HttpParserError as error:
            if not self._deaf:
                self._refuse(self._refusal or RefusedError(400, f"expected a request of HTTP/1.1: {error}"))

    def _is_answering(self) -> bool:
        """Whether a request has arrived whole, and is not answered yet."""
        return (
            self.cycle is not None
            and not self.cycle.response_complete
            and not (self._in_head or self._in_body)
        )

    def has_request(self) -> bool:
        """Whether the service works on a request of this connection."""
        return self._is_answering() and not self.unsent()

    def _close_after_answer(self) -> None:
        """Read nothing more, and close the connection after the answer in progress."""
        self._deaf = True
        self._receiving_until = None
        if self._is_answering():
            self.cycle.keep_alive = False
        else:
            self._linger()

    def on_message_begin(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:  # it began in the same bytes
            self._close_after_answer()
            raise ValueError("one request at a time")
        super().on_message_begin()
        self._in_head = True
        self._receiving_until = time.monotonic() + self._head_seconds

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_body:
            return  # trailers are dropped
        if len(self.headers) >= self._limits.fields:
            message = f"head: expected at most {self._limits.fields} fields"
            self._refusal = RefusedError(431, message, "fields")
            raise ValueError(message)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body, self._quiet = False, True, 0
        grace = self._limits.seconds + self._limits.head_seconds  # the guard answers 408 before that
        self._receiving_until = time.monotonic() + grace
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._quiet = False, 0
        self._receiving_until = None
        super().on_message_complete()

    def shutdown(self) -> None:
        """End the connection when the service ends: at once, unless a whole request has been accepted."""
        if self._is_answering():
            self.cycle.keep_alive = False
        elif self.unsent() and not (self._in_head or self._in_body):
            self.transport.close()  # when the answer has been read
        else:
            self.transport.abort()

    def unsent(self) -> int:
        """Bytes that the client has not taken yet."""
        return int(self.transport.get_write_buffer_size())

    def check(self, now: float) -> None:
        """End the connection if its client is late."""
        if not self.unsent():
            self._sending_until = None
        elif self._sending_until is None:
            self._sending_until = now + self._limits.seconds
        if self._sending_until is not None and now > self._sending_until:
            self.end("unread")
        elif self._receiving_until is not None and now > self._receiving_until:
            message = f"head: expected within {self._head_seconds:g} seconds"
            if self._in_head and not self.unsent():
                self._refuse(RefusedError(408, message, "head_seconds"))
            else:
                self.end("late")

    def end(self, reason: str) -> None:
        """End the connection now; what was not sent is lost."""
        self._all.metrics.ended_connections.labels(reason).inc()
        self._all.remove(self)
        self.transport.abort()

    def _refuse(self, error: RefusedError) -> None:
        """Answer with a refusal and close; the client has a moment to read it."""
        self._deaf = True
        self._receiving_until = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.end("malformed")  # another answer may be half written
            return
        self._all.metrics.ended_connections.labels("refused").inc()
        body = json.dumps({"error": error.message, "limit": error.limit}).encode()
        head = (
            f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._linger()

    def _linger(self) -> None:
        """Close, but read what still arrives for a moment: else the client may lose the last answer."""
        if self.transport.is_closing():
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.abort)
