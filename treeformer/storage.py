"""Files and folders that are complete or absent, even if the machine stops while they are written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self


def write_file(path: Path, content: bytes) -> None:
    """Write a file; if that fails or is interrupted, its old content stays."""
    part = path.with_name(f".{path.name}.treeformer-part")
    try:
        write_synced(part, content)
        os.replace(part, path)
        _sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise OSError(f"{path}: could not be written ({reason}); it is as it was before") from error
        raise


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, by `write_file`."""
    write_file(path, json_bytes(value))


def json_bytes(value: object) -> bytes:
    """A value as indented JSON with a newline at its end."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk, not only in its cache."""
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def move_folder(source: Path, path: Path, aside: Path | None = None) -> None:
    """Rename a complete folder into place; the folder it replaces is deleted afterwards.

    Args:
        source: the complete folder.
        path: its new name.
        aside: name for the replaced folder until it is deleted. By default a hidden name beside it, which
            is removed, so the folder around it must be ours.
    """
    _sync_folder(source)
    old = aside or _name_for_removal(path)
    if path.exists():
        os.rename(path, old)
    os.rename(source, path)
    _sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder; if that is interrupted, the rest no longer has its name."""
    old = _name_for_removal(path)
    os.rename(path, old)
    shutil.rmtree(old, ignore_errors=True)


class Lock:
    """An exclusive lock on a file, held by one process; the system releases it when the process ends.

    Args:
        path: the lock file. It is created if missing and holds the number of the process.
        purpose: what the holder does, for the message to a second process: ``o: being written``.
    """

    def __init__(self, path: Path, purpose: str) -> None:
        self.path = path
        self.purpose = purpose
        self._stream: IO[bytes] | None = None

    def __enter__(self) -> Self:
        while self._stream is None:
            stream = open(self.path, "a+b")
            if not lock_stream(stream):
                stream.seek(0)
                holder = stream.read(20).decode("ascii", "replace").strip() or "unknown"
                stream.close()
                raise BlockingIOError(f"{self.purpose} by another process (number {holder})")
            if self.path.exists() and os.path.samestat(os.fstat(stream.fileno()), os.stat(self.path)):
                self._stream = stream
            else:  # the last holder removed the file after we had opened it
                stream.close()
        try:
            self._stream.truncate(0)
            self._stream.write(f"{os.getpid()}\n".encode())
            self._stream.flush()
        except OSError as error:  # the disk is full
            with suppress(OSError):
                self.__exit__(None, None, None)
            self._stream = None
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self.path.unlink(missing_ok=True)  # before the lock is released
            self._stream.close()
            self._stream = None


class WorkFolder:
    """A hidden folder beside an output in which the output is made: ``.NAME.treeformer``.

    One process at a time can use it. Everything in it was written by treeformer, so it may be removed; a
    folder of this name without our mark is refused. What an interrupted run left is there for the next.

    >>> with WorkFolder(Path("trees.txt")) as work:  # doctest: +SKIP
    ...     write_file(work.path / "trees", b"...")
    ...     os.replace(work.path / "trees", "trees.txt")
    ...     work.remove()
    """

    MARK = "written-by-treeformer"

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = output.with_name(f".{output.name}.treeformer")
        self._lock = Lock(self.path / "lock", f"{output}: being written")

    def __enter__(self) -> Self:
        names = self._names() - {self._lock.path.name}
        if names and self.MARK not in names:
            raise ValueError(f"{self.path}: not written by treeformer; move it away, its name is needed")
        while True:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.__enter__()
                break
            except FileNotFoundError:  # another process ended and removed the folder just now
                continue
        (self.path / self.MARK).touch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_empty = self._names() <= {self.MARK, self._lock.path.name}
        if is_empty:  # nothing to resume
            (self.path / self.MARK).unlink(missing_ok=True)
        self._lock.__exit__(kind, error, trace)
        if is_empty:
            with suppress(OSError):  # another process uses the folder already
                self.path.rmdir()

    def remove(self) -> None:
        """Remove all content: the output is complete, or its beginning is of no use."""
        for name in self._names() - {self.MARK, self._lock.path.name}:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _names(self) -> set[str]:
        return {path.name for path in self.path.iterdir()} if self.path.is_dir() else set()


def lock_stream(stream: IO[bytes]) -> bool:
    """Lock an open file for this process and its children; False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sha256(path: Path) -> str:
    """The SHA-256 of a file. It is computed once for each size and modification time."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, modified: int) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_files(folder: Path, checksums: Mapping[str, str], source: str = "the manifest") -> None:
    """Raise ``ValueError`` if a file is missing or differs from its SHA-256, given by name.

    ``source`` is what the message calls the origin of the checksums.
    """
    for name, expected in checksums.items():
        path = folder / name
        if not path.is_file():
            raise ValueError(f"{path}: missing, expected as listed in {source}")
        if sha256(path) != expected:
            raise ValueError(f"{path}: damaged or changed, its SHA-256 is not that of {source}")


def keep_lines(path: Path, good: Callable[[bytes], bool]) -> int:
    """Cut a file before the first line that is torn or not good; return the number of lines kept."""
    if not path.exists():
        return 0
    lines = end = 0
    with open(path, "rb+") as stream:
        for line in stream:
            if not line.endswith(b"\n") or not good(line):
                break
            lines, end = lines + 1, end + len(line)
        stream.truncate(end)
    return lines


def _name_for_removal(path: Path) -> Path:
    """A free hidden name beside a folder."""
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    return old


def _sync_folder(folder: Path) -> None:
    """fsync the directory entry; not needed on Windows, which cannot open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
