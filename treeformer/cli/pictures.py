"""Pictures that commands write with ``--svg``."""

from __future__ import annotations

from pathlib import Path

from treeformer.storage import write_file


def write_picture(picture: str, path: Path) -> None:
    """Write a picture whole or not at all, ``-`` to standard output; ``OSError`` names the file."""
    if str(path) == "-":
        print(picture)
    elif path.exists() and not path.is_file():  # a device or a pipe cannot be replaced by a file
        try:
            path.write_text(picture, encoding="utf-8")
        except OSError as error:
            raise OSError(f"{path}: {error.strerror}") from error
    else:
        write_file(path.resolve(), picture.encode())
