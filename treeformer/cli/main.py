"""The command ``treeformer``: its streams, its signals, and what it prints when something goes wrong.

The commands are imported in `main`, after the handlers of signals are in place.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

from treeformer.extras import missing

if TYPE_CHECKING:
    from types import FrameType

    from _typeshed import ReadableBuffer, WriteableBuffer

_INTERRUPTED = 130  # the status of a command that Ctrl-C ended, as in a shell
_interrupts: list[int] = []  # the signals that came


def main() -> None:
    """Run the command line. Bad input ends with one line on standard error and status 1, no traceback.

    Ctrl-C and SIGTERM end a command with status 130.
    """
    atexit.register(_handle_signals, signal.SIG_IGN)  # runs last: then the status is that of the command
    _handle_signals(_interrupt)
    try:
        _prepare_streams()
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads of torch that wait leave the core
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # errors are printed here, in one line
        _run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        sys.exit(1)
    except Exception as error:
        if is_interrupt(error):
            sys.exit(_INTERRUPTED)
        message = explain(error)
        if message is None:
            raise
        _finish_output()
        print(f"treeformer: {' '.join(message.splitlines())}", file=sys.stderr)
        sys.exit(1)
    finally:
        _handle_signals(_end)  # Python prints a traceback of an exception that is raised while it ends


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or what a library raised from it.

    A library that is interrupted while it is imported may raise an ``ImportError``, and lose its cause.
    """
    if _interrupts and isinstance(error, ImportError):
        return True
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def explain(error: Exception) -> str | None:
    """The message for an error of input or machine; ``None`` for an error in the code."""
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and _is_out_of_memory(error)):
        return "not enough memory: expected smaller inputs, batches or models, or fewer processes"
    if isinstance(error, OverflowError):
        return f"a number is too large: {error}"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError) and (message := missing(error.name)):
        return message
    if isinstance(error, (ValueError, OSError, ImportError)):  # ImportError: an extra is not installed
        return str(error) or type(error).__name__
    return None


def _run() -> None:
    """Import and run the commands; an error of the last output is raised here, not at exit."""
    from treeformer.cli.commands import app

    try:
        app()
    except SystemExit:
        sys.stdout.flush()
        raise


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch could not allocate memory, on the CPU or on a GPU."""
    message = str(error)
    return "out of memory" in message or "allocate memory" in message


def _handle_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Set the handler of Ctrl-C and SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


class _StandardStream(FileIO):
    """Standard input or output; its errors name it, and using it is one if it was closed at the start."""

    def __init__(self, number: int, mode: str, *, is_closed: bool) -> None:
        super().__init__(number, mode, closefd=False)
        self._is_closed = is_closed
        self._title = ("standard input", "standard output")[number]
        self.name = ("<stdin>", "<stdout>")[number]

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        with self._named_errors():
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with self._named_errors():
            return super().readall()

    def write(self, data: ReadableBuffer, /) -> int:
        with self._named_errors():
            return super().write(data)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        if self._is_closed:
            raise OSError(errno.EBADF, "it is closed", self._title)
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._title) from None


def _prepare_streams() -> None:
    """Make text UTF-8 with lines that end with a newline, whatever the environment says."""
    _occupy_closed_descriptors()
    # Bytes of the input that are not UTF-8 are found where lines are read.
    sys.stdin = TextIOWrapper(
        BufferedReader(_StandardStream(0, "r", is_closed=sys.stdin is None)),
        encoding="utf-8",
        errors="surrogateescape",
        newline="\n",
    )
    errors = "strict" if sys.stdout is None else sys.stdout.errors
    output = _StandardStream(1, "w", is_closed=sys.stdout is None)
    sys.stdout = TextIOWrapper(
        BufferedWriter(output),
        encoding="utf-8",
        errors=errors,
        newline="\n",
        line_buffering=output.isatty(),
    )
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open until the end)


def _occupy_closed_descriptors() -> None:
    """Open the null device for each standard stream that is closed, lest a file get its number."""
    descriptor = 0
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _finish_output() -> None:
    """Write what was printed so far, as far as that is possible."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Send what is still to be written to the null device."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (open until the end)
