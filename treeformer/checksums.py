"""``checksums.json``: the SHA-256 of each file of a model, checked when the model is opened.

The list is written after the files, so a file that is being replaced is not in it. Folders without a list,
such as those of version 0.1.0, are not checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Self

from pydantic import field_validator

from treeformer.configuration import Settings, read_json
from treeformer.storage import check_files, sha256, write_json

CHECKSUMS = "checksums.json"
FORMAT = 1  #: of the list


class _List(Settings):
    format: int = FORMAT
    sha256: dict[str, str]  #: by name of file

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The list in a folder, empty if there is none; a newer format is refused."""
        path = folder / CHECKSUMS
        if not path.is_file():
            return cls(sha256={})
        number = read_json(path).get("format")
        if isinstance(number, int) and number > FORMAT:
            raise ValueError(
                f"{path}: written by a newer version of treeformer (format {number}, known up to {FORMAT}); "
                "update treeformer"
            )
        return cls.load_json(path)

    @field_validator("sha256")
    @classmethod
    def _of_files_beside_it(cls, sums: dict[str, str]) -> dict[str, str]:
        for name in sums:
            if Path(name).name != name:
                raise ValueError(f"expected names of files in the same folder, got {name!r}")
        return sums


def check_folder(folder: Path, names: Collection[str] = ("*",)) -> None:
    """Raise ``ValueError`` if a listed file is missing or has changed.

    Args:
        folder: the folder of a model; it need not have a list.
        names: patterns of the files to check.
    """
    while True:
        listed = _List.of(folder)
        sums = {name: one for name, one in listed.sha256.items() if _matches(name, names)}
        try:
            check_files(folder, sums, CHECKSUMS)
            return
        except ValueError as error:
            if _List.of(folder) == listed:  # else a training run has just replaced the file
                hint = f"restore it, or delete {CHECKSUMS} if you changed it on purpose"
                raise ValueError(f"{error}; {hint}") from None


@contextmanager
def replaced(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Take files off the list while the caller writes them, and list them again.

    Args:
        folder: the folder of a model; the list is created if it is missing.
        names: patterns of the files that the caller writes or removes.
    """
    if (folder / CHECKSUMS).is_file():
        _write(folder, _others(folder, names))
    yield
    written = [path for path in sorted(folder.iterdir()) if path.is_file() and _matches(path.name, names)]
    _write(folder, {**_others(folder, names), **{path.name: sha256(path) for path in written}})


def _others(folder: Path, names: Collection[str]) -> dict[str, str]:
    """The listed files that match no pattern; none if the list itself is damaged."""
    try:
        listed = _List.of(folder).sha256
    except ValueError:
        return {}
    return {name: one for name, one in listed.items() if not _matches(name, names)}


def _write(folder: Path, sums: dict[str, str]) -> None:
    write_json(folder / CHECKSUMS, _List(sha256=dict(sorted(sums.items()))).model_dump())


def _matches(name: str, patterns: Collection[str]) -> bool:
    return name != CHECKSUMS and any(fnmatch(name, pattern) for pattern in patterns)
