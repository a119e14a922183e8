"""A process that serves: loads the models, listens, and finishes what it accepted before it ends."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import uvicorn

from treeformer.inference.translator import Translator
from treeformer.serving.application import application
from treeformer.serving.engine import (
    ParserEngine,
    TranslatorEngine,
    corenlp_is_here,
    load_classifier,
    load_parser_of,
)
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import Metrics
from treeformer.serving.service import Service

_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def load_service(
    model: Path | None,
    other_model: Path | None,
    translation: Path | None,
    limits: Limits,
    metrics: Metrics,
    *,
    device: str | None = None,
) -> Service:
    """The service of these runs; CoreNLP is among its parsers where it is installed."""
    models = {"main": load_classifier(model, limits, device)}
    if other_model is not None:
        models["other"] = load_classifier(other_model, limits, device)
    translator = None
    if translation is not None:
        loaded = Translator.from_pretrained(translation, device=device)
        load_parser_of(loaded.processor)
        translator = TranslatorEngine(loaded, translation.name, limits)
    language = models["main"].classifier.processor.settings.language
    parsers = {"corenlp": ParserEngine(f"corenlp:{language}")} if corenlp_is_here(language) else {}
    return Service(models, translator, parsers, limits, metrics)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    listener.set_inheritable(True)
    return listener


def serve(service: Service, metrics: Metrics, listener: socket.socket, *, token: str | None) -> None:
    """Serve until a signal asks to end; then finish what was accepted."""
    host = listener.getsockname()[0]
    app = application(service, metrics, token=token, hosts=_LOCAL if host in _LOCAL else None)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
