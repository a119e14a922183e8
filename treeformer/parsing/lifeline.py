"""Worker processes that end with the process that started them, however that one ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.resource_tracker import ensure_running

_PR_SET_PDEATHSIG = 1  # of Linux
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def end_with_parent(lifeline: Connection) -> None:
    """End this process when the other end of a pipe is closed, by the parent or by its death.

    On Linux the kernel also kills this process when the parent dies.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library without prctl
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which started this process under `blocked_interrupts`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)


@contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM while processes are started.

    They cannot be hit by Ctrl-C before they ignore it, nor left without what the parent still had to send.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    ensure_running()  # it would unblock the signals when the first process starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)
