"""A server on this machine that serves files as the hub and Maven Central do."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

LARGE = 10_000  #: bytes; the hub redirects to larger files


class FileServer(ThreadingHTTPServer):
    """Serves files and records the requests.

    Args:
        files: contents by path.
        commit: the revision of a hub, for its headers.
        pause_at: bytes after which the first download stops.
        hang: whether it then waits for ever; else it ends the connection.
    """

    daemon_threads = True

    def __init__(
        self, files: Mapping[str, bytes], commit: str = "", pause_at: int | None = None, hang: bool = False
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = dict(files)
        self.commit = commit
        self.pause_at = pause_at
        self.hang = hang
        self.requests: list[tuple[str, str, str | None]] = []  #: method, path and range
        self.tokens: set[str | None] = set()
        self.paused = threading.Event()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: clients are meant to go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def _answer(self, *, with_content: bool) -> None:
        path = urlsplit(self.path).path
        wanted = self.headers["Range"]
        self.server.requests.append((self.command, path, wanted))
        self.server.tokens.add(self.headers["Authorization"])
        content = self.server.files.get(path.removeprefix("/large"))
        if content is None:
            self._start(404, {"Content-Length": "0", "X-Error-Code": "EntryNotFound"})
            return
        facts = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        if self.server.commit:
            facts["X-Repo-Commit"] = self.server.commit
        if self.server.commit and len(content) > LARGE and not path.startswith("/large"):
            facts |= {"X-Linked-Etag": facts["ETag"], "X-Linked-Size": str(len(content))}
            self._start(302, {**facts, "Location": f"{self.server.url}/large{path}", "Content-Length": "0"})
            return
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        if start >= len(content):
            self._start(416, {"Content-Length": "0"})
            return
        if wanted:
            facts["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        content = content[start:]
        self._start(206 if wanted else 200, {**facts, "Content-Length": str(len(content))})
        if with_content:
            self._send(content)

    def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, content: bytes) -> None:
        limit = self.server.pause_at
        if limit is None or len(content) <= limit:
            self.wfile.write(content)
            return
        self.server.pause_at = None
        self.wfile.write(content[:limit])
        self.wfile.flush()
        self.server.paused.set()
        if self.server.hang:
            self.server.over.wait()
        self.close_connection = True


@contextmanager
def serving(server: FileServer) -> Iterator[FileServer]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def hub_paths(folder: Path, repository: str, revision: str) -> dict[str, bytes]:
    """The files of a folder by their paths on a hub."""
    place = f"/{repository}/resolve/{revision}"
    return {f"{place}/{path.name}": path.read_bytes() for path in folder.iterdir()}


def maven_paths(folder: Path, artifact: str) -> dict[str, bytes]:
    """The jar of an artifact by its path in Maven Central."""
    group, name, version = artifact.split(":")
    jar = f"{name}-{version}.jar"
    return {f"/{group.replace('.', '/')}/{name}/{version}/{jar}": (folder / jar).read_bytes()}
