"""What ``treeformer serve`` runs: model processes and a socket, until all accepted requests are answered."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import ExitStack
from dataclasses import replace

import uvicorn

from treeformer.serving.application import application
from treeformer.serving.metrics import Metrics
from treeformer.serving.model_process import ModelProcess, ProcessSettings
from treeformer.serving.service import Service
from treeformer.serving.text_parser import ParserWorker, corenlp_is_installed

MOST_PROCESSES = 4  #: by default; more would be limited by the HTTP process
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on a port; port 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def serve(service: Service, metrics: Metrics, listener: socket.socket, *, token: str | None) -> None:
    """Serve until a signal asks to end; then answer the requests that were accepted."""
    host = listener.getsockname()[0]
    app = application(service, metrics, token=token, hosts=_LOCAL if host in _LOCAL else None)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        ws="none",
        lifespan="off",
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
