"""``ModelProcess``: a process with models, as the service sees it; replaced when it ends or hangs."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from treeformer.parsing.failures import Parsed
from treeformer.serving.limits import Deadline, Limits, unavailable
from treeformer.serving.schema import ModelDescription, ServiceRequest

_log = logging.getLogger("treeformer.serving")
_spawn = multiprocessing.get_context("spawn")  # threads and a GPU do not survive a fork
_PATIENCE = 60.0  # seconds after the deadline of its requests at which a process is considered hung
_LOADING = 300.0  # seconds after which a process that still loads is considered hung
_ENDED = "the model process that read this text has ended and is being replaced: try again"
_MEMORY = "not enough memory at the moment, try again later or with less text"


@dataclass(frozen=True)
class ProcessSettings:
    """What a model process loads.

    classifiers: folders by name; None is the included model. ``main`` must be there.
    translation: folder of a model that translates, if there is one.
    limits: limits of the service.
    device: cpu or cuda; by default a GPU where there is one.
    threads: number of threads of the process; None for all cores.
    imports: modules that register systems or parsers.
    """

    classifiers: dict[str, Path | None] = field(default_factory=lambda: {"main": None})
    translation: Path | None = None
    limits: Limits = Limits()  # noqa: RUF009 - immutable
    device: str | None = None
    threads: int | None = None
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedModels:
    """What a process has loaded: classifiers with the language of their parser, and a translator with its."""

    language: str
    models: tuple[ModelDescription, ...]
    translation: str | None
    translated_language: str | None


class ModelRequest(NamedTuple):
    """A request, and its texts as trees if another parser than that of the model has parsed them."""

    request: ServiceRequest
    parsed: Sequence[Parsed] | None = None


class ModelProcess:
    """A worker of the request queue: one process with all models.

    Args:
        settings: what it loads.
        record_end: is called when the process has ended unexpectedly.
        spare: the process is needed on a CPU only; it ends at once where models run on a GPU.
    """

    def __init__(
        self, settings: ProcessSettings, record_end: Callable[[], None], *, spare: bool = False
    ) -> None:
        self._settings = settings
        self._record_end = record_end
        self._spare = spare
        self._start()

    def _start(self) -> None:
        ours, theirs = _spawn.Pipe()
        self._batch = 0  # number of the current batch
        self._abandoned = _spawn.RawValue(ctypes.c_uint64, 0)  # number of the batch that nobody waits for
        arguments = (theirs, self._settings, self._spare, self._abandoned)
        process = _spawn.Process(target=_main, args=arguments, name="models")
        try:
            process.start()
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._connection, self._process = ours, process
        self._loaded = False

    def wait_until_loaded(self) -> LoadedModels | None:
        """What the process has loaded, when it has; None if it is not needed."""
        try:
            with self._killed_after(_LOADING):
                loaded: LoadedModels | Exception | None = self._connection.recv()
        except (EOFError, OSError):
            raise ChildProcessError("a model process ended while it was loading") from None
        if isinstance(loaded, Exception):
            raise loaded
        self._loaded = True
        return loaded

    def ready(self) -> None:
        """Replace the process if it has ended, and wait until it has loaded its models."""
        if not self._process.is_alive():
            _log.error("a model process has ended (%s), starting another", self._process.exitcode)
            self._record_end()
            self.close()
            self._start()
        if not self._loaded:
            self.wait_until_loaded()

    def __call__(self, requests: Sequence[ModelRequest], seconds: float) -> Sequence[Any]:
        """For each request its response as JSON, or an exception."""
        try:
            with self._killed_after(max(0.0, seconds) + _PATIENCE):
                self._batch += 1
                self._connection.send((self._batch, requests, seconds))
                responses = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            return [unavailable(_ENDED)] * len(requests)
        if isinstance(responses, Exception):
            raise responses
        return list(responses)

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer; what waits for the process then fails."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def abandon(self) -> None:
        """Stop the work on the current batch at its next look at the time."""
        self._abandoned.value = self._batch

    def ask_to_end(self) -> None:
        """Ask the process to end as soon as it can."""
        self.abandon()
        self._connection.close()

    def close(self, seconds: float = 5.0) -> None:
        """End the process; it is killed if it takes longer."""
        self.ask_to_end()
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _main(connection: Connection, settings: ProcessSettings, spare: bool, abandoned: Any) -> None:
    """Run the process: load models, then answer until the service closes the connection."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the service handles them
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        _load_and_answer(connection, settings, spare, abandoned)
        return
    os._exit(0)  # the service has closed the connection; freeing the models one by one takes seconds


def _load_and_answer(connection: Connection, settings: ProcessSettings, spare: bool, abandoned: Any) -> None:
    import torch

    from treeformer.machine import chosen_device, limit_threads
    from treeformer.serving.engine import Engine

    if settings.threads is not None:
        limit_threads(settings.threads)
    try:
        if spare and chosen_device(settings.device).type != "cpu":
            connection.send(None)
            return
        for module in settings.imports:
            import_module(module)
        engine = Engine(settings)
    except (ValueError, OSError, ImportError) as error:
        connection.send(ValueError(str(error)))
        return
    connection.send(engine.description())
    while True:
        batch, requests, seconds = connection.recv()
        deadline = Deadline.after(seconds, lambda: bool(abandoned.value >= batch))  # noqa: B023 - used at once
        responses: Any
        try:
            responses = engine(requests, deadline)
        except (MemoryError, torch.OutOfMemoryError):
            responses = [unavailable(_MEMORY)] * len(requests)
        except Exception as error:
            _log.exception("%s failed", type(requests[0].request).__name__)
            responses = RuntimeError(f"{type(error).__name__}: {error}")
        connection.send(responses)
