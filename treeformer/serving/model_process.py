"""A process that holds the models, as the service sees it; where one ends by itself, another starts."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from treeformer.serving.errors import busy
from treeformer.serving.limits import Limits
from treeformer.trees import Tree

_log = logging.getLogger("treeformer.serving")
_spawn = multiprocessing.get_context("spawn")  # threads and a GPU do not survive a fork
_PATIENCE = 60.0  # seconds after the time limit at which a process is thought to hang
_LOADING = 300.0  # seconds after which one that still loads is thought to hang
_ENDED = "the process that read this text has ended, another is being started: try again"
_MEMORY = "not enough memory for this at the moment, try again later or with less text"


@dataclass(frozen=True)
class Runs:
    """Where the models of a service are, and what they run on: all that a process must know to load them.

    threads: of one process; None for those of torch.
    """

    model: Path | None
    other_model: Path | None
    translation: Path | None
    limits: Limits
    device: str | None = None
    threads: int | None = None


class Asked(NamedTuple):
    """A question of the service, and its texts as trees where another parser has parsed them."""

    question: Any
    parsed: Sequence[Tree] | None = None


class ModelProcess:
    """A worker: one process with all models.

    Args:
        runs: what it loads.
        ended: is called when it has ended by itself.
        spare: it is not needed, and ends at once, where models run on a GPU.
    """

    def __init__(self, runs: Runs, ended: Callable[[], None], *, spare: bool = False) -> None:
        self._runs = runs
        self._ended = ended
        self._spare = spare
        self._start()

    def _start(self) -> None:
        ours, theirs = _spawn.Pipe()
        process = _spawn.Process(target=_main, args=(theirs, self._runs, self._spare), name="models")
        try:
            process.start()
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._connection, self._process = ours, process
        self._about: dict[str, Any] | None = None

    def about(self) -> dict[str, Any] | None:
        """What it has loaded, when it has; None if it is not needed."""
        try:
            with self._killed_after(_LOADING):
                found = self._connection.recv()
        except (EOFError, OSError):
            raise ChildProcessError("the process of the models ended while it loaded them") from None
        if isinstance(found, Exception):
            raise found
        self._about = found
        return self._about

    def ready(self) -> None:
        """Start it again if it has ended, and wait until it has loaded its models."""
        if not self._process.is_alive():
            _log.error("the process of the models has ended (%s), starting another", self._process.exitcode)
            self._ended()
            self.close()
            self._start()
        if self._about is None:
            self.about()

    def __call__(self, asked: Sequence[Asked], seconds: float) -> Sequence[Any]:
        """For each question its answer as JSON, or an exception."""
        try:
            with self._killed_after(max(0.0, seconds) + _PATIENCE):
                self._connection.send((asked, seconds))
                answers = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            return [busy(_ENDED)] * len(asked)
        if isinstance(answers, Exception):
            raise answers
        return list(answers)

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        """What waits for the process longer than that fails, because the process is killed."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Ask it to end, and wait until it has."""
        self._connection.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _main(connection: Connection, runs: Runs, spare: bool) -> None:
    """What the process does: load, and then answer until nobody is there to ask."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the service says when to end, by closing the connection
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        _load_and_answer(connection, runs, spare)


def _load_and_answer(connection: Connection, runs: Runs, spare: bool) -> None:
    import torch

    from treeformer.machine import chosen_device
    from treeformer.serving.models import load_models

    if runs.threads is not None:
        torch.set_num_threads(runs.threads)
    try:
        if spare and chosen_device(runs.device).type != "cpu":
            connection.send(None)
            return
        models = load_models(runs)
    except (ValueError, OSError) as error:
        connection.send(ValueError(str(error)))
        return
    connection.send(models.about())
    while True:
        asked, seconds = connection.recv()
        answers: Any
        try:
            answers = models(asked, seconds)
        except (MemoryError, torch.OutOfMemoryError):
            answers = [busy(_MEMORY)] * len(asked)
        except Exception as error:
            _log.exception("%s failed", type(asked[0].question).__name__)
            answers = RuntimeError(f"{type(error).__name__}: {error}")
        connection.send(answers)
