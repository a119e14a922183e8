"""CoreNLP's server: one that is already running, or one that is started and stopped here."""

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
_START_SECONDS = 600.0  # for a server to start and to load its models
_LOG_TAIL = 4000  # bytes of the log that are searched for the cause of an error
_CAUSE = re.compile(
    r"(?!Error occurred during initialization).*(Error|Exception|Invalid|Unrecognized|heap|memory)"
)
_MAIN = "edu.stanford.nlp.pipeline.StanfordCoreNLPServer"
_WATCHDOG = str(Path(__file__).with_name("watchdog.py"))


class RefusedError(Exception):
    """The server refused a request: the text was too long, or took too long."""


class Server:
    """A running server; nothing is started or stopped.

    Args:
        address: ``http://HOST:PORT``.
        timeout: seconds for a request, without the loading of models.
    """

    def __init__(self, address: str, *, timeout: float) -> None:
        self._host, self._port = parse_address(address)
        self._timeout = timeout
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}

    def ask(self, text: str, properties: Mapping[str, str]) -> Any:
        """CoreNLP's answer for the text, decoded from JSON; `RefusedError` if it gives none."""
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException) as error:
            raise OSError(
                f"no CoreNLP server answers at http://{self._host}:{self._port}: {error}"
            ) from error

    def close(self) -> None:
        """Stop the server if it was started here."""

    def _ask(self, text: str, properties: Mapping[str, str]) -> Any:
        limits = {"outputFormat": "json", "timeout": str(round(1000 * self._timeout))}
        query = urlencode({"resetDefault": "true", "properties": json.dumps({**properties, **limits})})
        body = text.encode("utf-8", "replace")
        answer, content = self._request("POST", f"/?{query}", body, self._timeout + _START_SECONDS)
        if answer.status != 200:
            raise RefusedError(f"{content.decode('utf-8', 'replace').strip()} (status {answer.status})")
        return json.loads(content)

    def _request(
        self, method: str, path: str, body: bytes | None, seconds: float
    ) -> tuple[HTTPResponse, bytes]:
        """One request on a new connection, since the server closes idle ones."""
        with closing(HTTPConnection(self._host, self._port, timeout=seconds)) as connection:
            connection.request(method, path, body, self._headers)
            answer = connection.getresponse()
            return answer, answer.read()


class ManagedServer(Server):
    """A server that is started on the first request, restarted after a crash, and stopped with this process.

    Args:
        class_path: class path of the jars.
        memory: largest heap, such as ``4g``.
        threads: number of concurrent requests.
        port: 0 for any free port.
        timeout: seconds for a request, without the loading of models.
        warm_up: properties of a first request, which loads the models.
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
        super().__init__(f"http://{_HOST}:0", timeout=timeout)  # each start chooses a port
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
        """CoreNLP's answer for the text; a server that dies during a request is restarted once."""
        process = self._started(instead_of=None)
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException):
            process = self._started(instead_of=process)
        try:
            return self._ask(text, properties)
        except (OSError, HTTPException) as error:
            status, log = self._post_mortem(process)
            raise OSError(
                f"CoreNLP's server died twice over the same text: {status or error}\n{log}"
            ) from error

    def close(self) -> None:
        """Stop the server for good."""
        with self._lock:
            self._closed = True
            self._stop()

    def _started(self, instead_of: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """The running server; started if there is none, or if the one that failed is the current one."""
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
        # The server listens on all interfaces, so requests need a password.
        password = secrets.token_hex()
        token = base64.b64encode(f"treeformer:{password}".encode()).decode()
        self._headers["Authorization"] = f"Basic {token}"
        arguments = {
            "port": self._port,
            "threads": self._threads,
            "timeout": round(1000 * self._timeout),
            "maxCharLength": 0,
            "quiet": "true",
            "server_id": secrets.token_hex(8),  # names a file; two servers must not share it
            "username": "treeformer",
            "password": password,
        }
        flags = [text for name, value in arguments.items() for text in (f"-{name}", str(value))]
        process = subprocess.Popen(
            [sys.executable, "-I", _WATCHDOG, self._java, *self._options, _MAIN, *flags],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # an interrupt from the keyboard is handled here
        )
        self._stop = weakref.finalize(self, _stop, process)
        try:
            self._await(process)
            self._ask("A .", self._warm_up)
        except (OSError, HTTPException, RefusedError) as error:
            status, log = self._post_mortem(process)
            self._stop()
            raise OSError(f"CoreNLP's server did not start: {_cause(log) or status or error}") from error
        except BaseException:
            self._stop()
            raise
        return process

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server is ready."""
        end = time.monotonic() + _START_SECONDS
        while process.poll() is None:
            try:
                if self._request("GET", "/ready", None, 5.0)[0].status == 200:
                    return
            except (OSError, HTTPException):
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"not ready after {_START_SECONDS:.0f} s")
            time.sleep(0.1)
        raise ChildProcessError("it ended at once")

    def _post_mortem(self, process: subprocess.Popen[bytes]) -> tuple[str, str]:
        """How the server ended (empty while it runs), and the end of its log."""
        try:
            status = f"it ended with status {process.wait(2.0)}"
        except subprocess.TimeoutExpired:
            status = ""
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _LOG_TAIL, max(0, size - _LOG_TAIL))
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
    """The port ``wanted``, checked to be free; any free port for 0."""
    try:
        with socket.create_server(("", wanted)) as listener:
            return int(listener.getsockname()[1])
    except OverflowError:
        raise ValueError(f"port = {wanted}: expected 0 to 65535") from None
    except OSError as error:
        raise OSError(
            f"port {wanted}: {error.strerror}; name another port, or 0 for any that is free"
        ) from None


def find_java() -> str:
    """The program ``java`` on the path, else in ``JAVA_HOME``."""
    java = shutil.which("java")
    if java is None and "JAVA_HOME" in os.environ:
        java = shutil.which("java", path=os.path.join(os.environ["JAVA_HOME"], "bin"))
    if java is None:
        raise FileNotFoundError(
            "java not found: CoreNLP needs Java 8 or newer (Debian, Ubuntu: apt install default-jre)"
        )
    return java


def _cause(log: str) -> str:
    """The line of a log that explains why Java ended, "" for an empty log."""
    if "UnsupportedClassVersionError" in log:
        return "this Java is too old, CoreNLP needs Java 8 or newer"
    if "OutOfMemoryError" in log:
        return "Java ran out of memory (OutOfMemoryError): give it more, such as memory='6g'"
    lines = log.splitlines()
    causes = [line.strip() for line in lines if _CAUSE.match(line) and not line.startswith("\t")]
    if causes:
        return causes[0]
    return lines[-1].strip() if lines else ""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe that the watchdog reads, and wait until it has stopped the server."""
    if process.stdin:
        process.stdin.close()
    process.wait()
