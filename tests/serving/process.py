"""The service as users start it: in another process, on a free port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import psutil

TEXT = "A gorgeous, witty, seductive movie."
LONG = "this is a long and winding film that never ends , " * 30


class ServiceProcess:
    """``treeformer serve`` with these options, listening at `address`; ``imports`` are modules."""

    def __init__(
        self, *options: str, imports: Sequence[str] = (), environment: dict[str, str] | None = None
    ) -> None:
        modules = [text for module in imports for text in ("--import", module)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treeformer", *modules, "serve", "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CORENLP_HOME": "/nowhere", **(environment or {})},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        address = re.search(r"http://\S+?(?=/ )", line)
        if address is None:
            assert self.process.stderr is not None
            raise AssertionError(f"the service did not start: {line}{self.process.stderr.read()}")
        self.address = address[0]
        assert self.process.stderr is not None
        before = iter(self.process.stderr.readline, "treeformer: loading …\n")
        self.advice = "".join(before)  #: how to get a better model, if there is one
        self.errors = ""
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self.client = httpx.Client(base_url=self.address, timeout=150)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    def ask(self, path: str, **question: Any) -> httpx.Response:
        """The answer to a question."""
        return self.client.post(f"/v1/{path}", json=question)

    def metric(self, name: str) -> float:
        """The sum of the samples of a metric."""
        lines = self.client.get("/metrics").text.splitlines()
        samples = [line for line in lines if re.match(rf"{name}(\{{|\s)", line)]
        return sum(float(line.rpartition(" ")[2]) for line in samples)

    def memory(self) -> float:
        """The most memory that its processes have held, in MiB."""
        first = psutil.Process(self.process.pid)
        return sum(_most_memory(process.pid) for process in (first, *first.children()))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, and wait until it has."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def close(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()


def _most_memory(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024


@contextmanager
def serving(*options: str, **settings: Any) -> Iterator[ServiceProcess]:
    """A service for a ``with`` block; see `ServiceProcess`."""
    service = ServiceProcess(*options, **settings)
    try:
        yield service
    finally:
        service.close()
