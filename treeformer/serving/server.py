"""What ``treeformer serve`` runs: model processes and a socket, until all accepted requests are answered."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import FrameType

import uvicorn

from treeformer.machine import cores
from treeformer.serving.application import application
from treeformer.serving.connection import Connection, Connections
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import Metrics
from treeformer.serving.model_process import ModelProcess, ProcessSettings
from treeformer.serving.peers import is_local
from treeformer.serving.service import Service
from treeformer.serving.text_parser import ParserWorker, corenlp_is_installed

MOST_PROCESSES = 4  #: by default; more would be limited by the HTTP process
_ENDING = 8  # seconds that accepted requests may take when the service ends
_UNREAD_BYTES = 64 << 10  # of an answer, that the kernel keeps for a client; it would keep megabytes
_OTHER_FILES = 100  # open files beside connections


def load_service(settings: ProcessSettings, processes: int | None, metrics: Metrics) -> Service:
    """The service with its model processes; it also offers CoreNLP where that is installed.

    Args:
        settings: what each process loads; without a number of threads, the processes share the cores.
        processes: number of processes; default: one per core, at most `MOST_PROCESSES`, one on a GPU.
        metrics: counters to update.
    """
    count = processes or min(cores(), MOST_PROCESSES)
    if settings.threads is None:
        settings = replace(settings, threads=max(1, cores() // count))
    with ExitStack() as started:
        model_processes = []
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes that load ignore Ctrl-C
        try:
            for number in range(count):
                spare = processes is None and number > 0
                process = ModelProcess(settings, metrics.ended.inc, spare=spare)
                started.callback(process.close)
                model_processes.append(process)
        finally:
            signal.signal(signal.SIGINT, handler)
        loaded = [process.wait_until_loaded() for process in model_processes]
        first = loaded[0]
        assert first is not None
        needed = [process for process, models in zip(model_processes, loaded, strict=True) if models]
        parsers = {}
        if corenlp_is_installed(first.language):
            name = f"corenlp:{first.language}"
            parsers["corenlp"] = ParserWorker(name, first.language, settings.limits)
        service = Service(needed, first, parsers, settings.limits, metrics)
        started.pop_all()
    return service


def listen(host: str, port: int, *, open_to_others: bool) -> socket.socket:
    """A socket that listens on a port; port 0 is any free port.

    Args:
        host, port: where to listen.
        open_to_others: whether other machines may connect; otherwise such a host is an error.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    if not open_to_others and not is_local(listener.getsockname()[0]):
        listener.close()
        raise ValueError(
            f"--host {host}: other machines can connect, but there is no token: set --token or "
            "TREEFORMER_TOKEN, or say --insecure"
        )
    return listener


def checked_token(token: str | None) -> str | None:
    """The token of the service, None for none; ValueError if it cannot protect anything."""
    if token is None:
        return None
    if not token.strip():
        raise ValueError("--token, TREEFORMER_TOKEN: expected a token, got an empty one; unset it for none")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ValueError("--token, TREEFORMER_TOKEN: expected visible ASCII characters without spaces")
    return token


def serve(
    service: Service,
    metrics: Metrics,
    listener: socket.socket,
    *,
    token: str | None,
    proxy: str | None = None,
) -> None:
    """Serve until a signal asks to end; then answer the requests that were accepted, if there is time.

    Args:
        service, metrics, listener: what answers, what is counted, and where requests arrive.
        token: bearer token that requests must carry; None for none.
        proxy: address of a reverse proxy, whose ``X-Forwarded-For`` names the peer.
    """
    limits = _with_enough_files(service.limits)
    app = application(service, metrics, token=token, local=is_local(listener.getsockname()[0]))
    connections = Connections(limits, metrics)

    async def check_connections() -> None:
        connections.check()

    config = uvicorn.Config(
        app,
        http=partial(Connection, connections),  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_ENDING,
        callback_notify=check_connections,
        timeout_notify=1,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        ws="none",
        lifespan="off",
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, lambda *_: None)
    _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """The server of uvicorn; reports that it stops."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            report("stopping …")
        super().handle_exit(sig, frame)


def report(message: str) -> None:
    """Write a line about the service to standard error."""
    print(f"treeformer: {message}", file=sys.stderr, flush=True)


def _with_enough_files(limits: Limits) -> Limits:
    """The limits with no more connections than this process may open; it may open more from now on."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return replace(limits, connections=max(1, min(limits.connections, soft - _OTHER_FILES)))
    return limits
