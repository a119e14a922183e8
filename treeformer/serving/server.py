"""What ``treeformer serve`` starts: models and a socket, until all that was accepted is answered."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import ExitStack
from dataclasses import replace

import uvicorn

from treeformer.serving.application import application
from treeformer.serving.metrics import Metrics
from treeformer.serving.model_process import ModelProcess, Runs
from treeformer.serving.parsers import ParserEngine, corenlp_is_here
from treeformer.serving.service import Service

MOST_PROCESSES = 4  #: by default; one process of the service keeps about as many busy
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_service(runs: Runs, processes: int | None, metrics: Metrics) -> Service:
    """The service of these runs; CoreNLP is among its parsers where it is installed.

    Args:
        runs: what each process loads; where no threads are given, all processes together have one a core.
        processes: that load it; default: one a core, `MOST_PROCESSES` at most, on a GPU one.
        metrics: that count.
    """
    count = processes or min(cores(), MOST_PROCESSES)
    if runs.threads is None:
        runs = replace(runs, threads=max(1, cores() // count))
    with ExitStack() as started:
        found = []
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes that load do not hear Ctrl-C
        try:
            for number in range(count):
                process = ModelProcess(runs, metrics.ended.inc, spare=processes is None and number > 0)
                started.callback(process.close)
                found.append(process)
        finally:
            signal.signal(signal.SIGINT, before)
        about = [process.about() for process in found]
        first = about[0]
        assert first is not None
        needed = [process for process, own in zip(found, about, strict=True) if own is not None]
        language = first["language"]
        parsers = {"corenlp": ParserEngine(f"corenlp:{language}")} if corenlp_is_here(language) else {}
        service = Service(needed, first, parsers, runs.limits, metrics)
        started.pop_all()
    return service


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def serve(service: Service, metrics: Metrics, listener: socket.socket, *, token: str | None) -> None:
    """Serve until a signal asks to end; then finish what was accepted."""
    host = listener.getsockname()[0]
    app = application(service, metrics, token=token, hosts=_LOCAL if host in _LOCAL else None)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30, ws="none"
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
