"""CoreNLP's server: one that already runs, or one of our own that lives no longer than we do."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

_HOST = "127.0.0.1"
_PATIENCE = 600.0  # seconds for a server to start and to load its models
_TAIL = 4000  # characters of the log that an error looks at
_TELLING = re.compile(
    r"(?!Error occurred during initialization).*(Error|Exception|Invalid|Unrecognized|heap|memory)"
)
_MAIN = "edu.stanford.nlp.pipeline.StanfordCoreNLPServer"
_WATCHDOG = str(Path(__file__).with_name("watchdog.py"))


class RefusedError(Exception):
    """The server is well, but did not do what it was asked: the text was too long, or took too long."""


class Server:
    """A server that already runs; nothing is started or stopped.

    Args:
        address: ``http://HOST:PORT``.
        timeout: seconds that a request may take, not counting the loading of models.
    """

    def __init__(self, address: str, *, timeout: float) -> None:
        self._host, self._port = parse_address(address)
        self._timeout = timeout
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}

    def ask(self, text: str, properties: Mapping[str, str]) -> Any:
        """What CoreNLP says about the text, as read from JSON; `RefusedError` where it will not."""
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException) as error:
            raise OSError(
                f"no CoreNLP server answers at http://{self._host}:{self._port}: {error}"
            ) from error

    def close(self) -> None:
        """Stop what was started."""

    def _ask(self, text: str, properties: Mapping[str, str]) -> Any:
        limits = {"outputFormat": "json", "timeout": str(round(1000 * self._timeout))}
        query = urlencode({"resetDefault": "true", "properties": json.dumps({**properties, **limits})})
        body = text.encode("utf-8", "replace")
        answer, content = self._request("POST", f"/?{query}", body, self._timeout + _PATIENCE)
        if answer.status != 200:
            raise RefusedError(f"{content.decode('utf-8', 'replace').strip()} (status {answer.status})")
        return json.loads(content)

    def _request(
        self, method: str, path: str, body: bytes | None, seconds: float
    ) -> tuple[HTTPResponse, bytes]:
        """One request on a connection of its own, so that no idle one is found closed."""
        with closing(HTTPConnection(self._host, self._port, timeout=seconds)) as connection:
            connection.request(method, path, body, self._headers)
            answer = connection.getresponse()
            return answer, answer.read()


class ManagedServer(Server):
    """A server of our own: started when first asked, started again after a crash, stopped when we end.

    Args:
        class_path: jars, as Java takes them.
        memory: largest heap, as in ``4g``.
        threads: requests that are worked on at a time.
        port: 0 for any that is free.
        timeout: seconds that a request may take, not counting the loading of models.
        warm_up: asks for something, so that models are loaded before the server counts as started.
    """

    def __init__(
        self,
        class_path: str,
        *,
        memory: str,
        threads: int,
        port: int,
        timeout: float,
        warm_up: Mapping[str, str],
    ) -> None:
        super().__init__(f"http://{_HOST}:0", timeout=timeout)  # the port is found at each start
        if not re.fullmatch(r"\d+[kmgKMG]?", memory):
            raise ValueError(f"memory = {memory!r}: expected a number with k, m or g, such as '4g'")
        self._java = find_java()
        self._options = [f"-Xmx{memory}", "-XX:+ExitOnOutOfMemoryError", "-Dsun.net.httpserver.nodelay=true"]
        self._options += ["-cp", class_path]
        self._threads = threads
        self._wanted_port = port
        self._warm_up = warm_up
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: Callable[[], object] = lambda: None
        self._closed = False

    def ask(self, text: str, properties: Mapping[str, str]) -> Any:
        """As `Server.ask`; a server that dies over a request is started again, once."""
        process = self._started(instead_of=None)
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException):
            process = self._started(instead_of=process)
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException) as error:
            status, log = self._obituary(process)
            raise OSError(
                f"CoreNLP's server died twice over the same text: {status or error}\n{log}"
            ) from error

    def close(self) -> None:
        """Stop the server; it cannot be asked again."""
        with self._lock:
            self._closed = True
            self._stop()

    def _started(self, instead_of: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """The running server, started where there is none or where it is the one that failed."""
        with self._lock:
            if self._closed:
                raise ValueError("the parser is closed")
            if self._process is None or self._process is instead_of:
                self._stop()
                self._process = None
                self._process = self._start()
            return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        self._port = free_port(self._wanted_port)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open while it runs)
        # The server listens on all interfaces, so it takes requests only from those who know a password.
        password = secrets.token_hex()
        token = base64.b64encode(f"treeformer:{password}".encode()).decode()
        self._headers["Authorization"] = f"Basic {token}"
        arguments = {
            "port": self._port,
            "threads": self._threads,
            "timeout": round(1000 * self._timeout),
            "maxCharLength": 0,
            "quiet": "true",
            "server_id": secrets.token_hex(8),  # names a file that no other server may own
            "username": "treeformer",
            "password": password,
        }
        flags = [text for name, value in arguments.items() for text in (f"-{name}", str(value))]
        process = subprocess.Popen(
            [sys.executable, "-I", _WATCHDOG, self._java, *self._options, _MAIN, *flags],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # an interrupt from the keyboard is ours to handle
        )
        self._stop = weakref.finalize(self, _stop, process)
        try:
            self._await(process)
            self._ask("A .", self._warm_up)
        except (OSError, HTTPException, RefusedError) as error:
            status, log = self._obituary(process)
            self._stop()
            raise OSError(f"CoreNLP's server did not start: {_cause(log) or status or error}") from error
        except BaseException:
            self._stop()
            raise
        return process

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server says that it is ready."""
        end = time.monotonic() + _PATIENCE
        while process.poll() is None:
            try:
                if self._request("GET", "/ready", None, 5.0)[0].status == 200:
                    return
            except (OSError, HTTPException):
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"not ready after {_PATIENCE:.0f} s")
            time.sleep(0.1)
        raise ChildProcessError("it ended at once")

    def _obituary(self, process: subprocess.Popen[bytes]) -> tuple[str, str]:
        """How the server ended, empty while it runs, and the end of its log."""
        try:
            status = f"it ended with status {process.wait(2.0)}"
        except subprocess.TimeoutExpired:
            status = ""
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _TAIL, max(0, size - _TAIL))
        return status, tail.decode("utf-8", "replace").strip()


def parse_address(address: str) -> tuple[str, int]:
    """Host and port.

    >>> parse_address("http://localhost:9000")
    ('localhost', 9000)
    """
    wrong = ValueError(f"address = {address!r}: expected http://HOST:PORT")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme != "http" or not parts.hostname or port is None or parts.path.strip("/"):
        raise wrong
    return parts.hostname, port


def free_port(wanted: int) -> int:
    """``wanted`` if nobody listens there; any free port for 0."""
    try:
        with socket.create_server(("", wanted)) as found:
            return int(found.getsockname()[1])
    except OverflowError:
        raise ValueError(f"port = {wanted}: expected 0 to 65535") from None
    except OSError as error:
        raise OSError(
            f"port {wanted}: {error.strerror}; name another port, or 0 for any that is free"
        ) from None


def find_java() -> str:
    """The program ``java`` on the path, else in ``JAVA_HOME``."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") or (shutil.which("java", path=os.path.join(home, "bin")) if home else None)
    if java is None:
        raise FileNotFoundError(
            "java not found: CoreNLP needs Java 8 or newer (Debian, Ubuntu: apt install default-jre)"
        )
    return java


def _cause(log: str) -> str:
    """What a log says about the end of Java, in one line."""
    if "UnsupportedClassVersionError" in log:
        return "this Java is too old, CoreNLP needs Java 8 or newer"
    if "OutOfMemoryError" in log:
        return "Java ran out of memory (OutOfMemoryError): give it more, such as memory='6g'"
    lines = log.splitlines()
    telling = [line.strip() for line in lines if _TELLING.match(line) and not line.startswith("\t")]
    return (telling or [line.strip() for line in lines[-1:]] or [""])[0]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe by which the watchdog knows that we live, and see the server go."""
    if process.stdin:
        process.stdin.close()
    process.wait()
