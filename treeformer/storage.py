"""Files and folders that are complete or absent, even if the machine stops while they are written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file; if that fails or is interrupted, its old content stays."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_synced(part, content)
        os.replace(part, path)
        _sync_folder(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(f"{path}: could not be written ({error.strerror}); it is as it was before") from error


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, by `write_file`."""
    write_file(path, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode())


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk, not only in its cache."""
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def move_folder(source: Path, path: Path) -> None:
    """Give a complete folder its name; a folder that had this name is removed last."""
    _sync_folder(source)
    old = _name_for_removal(path)
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
    """Write the names in a folder to the disk; Windows cannot open folders and does it unasked."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
