"""Files that are whole or not there, whenever the machine stops."""

from __future__ import annotations

import hashlib
import os
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
