"""Files that are whole, or whole up to a line, whenever the machine stops."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is whole or as it was before, whenever the machine stops."""
    beside = path.with_name(f".{path.name}.part")
    try:
        write_synced(beside, content)
        os.replace(beside, path)
        flush_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(f"{path}: could not be written ({error.strerror}); it is as it was before") from error


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, by `write_file`."""
    write_file(path, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode())


def write_synced(path: Path, content: bytes) -> str:
    """Write a file to the disk, not only to its cache; the hash of the content."""
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    return hashlib.sha256(content).hexdigest()


def flush_folder(folder: Path) -> None:
    """Make names in a folder last; where folders cannot be opened (Windows) the system sees to it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_lines(path: Path, good: Callable[[bytes], bool]) -> int:
    """The number of whole lines in a file up to the first that is not good; all that follows is cut off."""
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
