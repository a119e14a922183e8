"""Lines of text files, compressed or not, with errors that name file, line and column."""

import os
from collections.abc import Generator
from io import BufferedReader, StringIO
from pathlib import PurePath
from typing import IO, BinaryIO

from .errors import TreeFormatError
from .tree import lone_surrogate

TextSource = str | os.PathLike[str] | IO[str]
COMPRESSED = (".xz", ".gz", ".bz2")  #: endings of files that are decompressed when read
NumberedLines = Generator[tuple[int, str], None, None]


def source_name(source: TextSource) -> str:
    """The name of ``source`` in error messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def numbered_lines(source: TextSource) -> NumberedLines:
    """The lines of a path or an open text stream, numbered from 1, with their newlines.

    A path that ends in ``.xz``, ``.gz`` or ``.bz2`` is decompressed. A byte-order mark at the start, and
    carriage returns before a newline or at the end, are removed. Text that is not UTF-8 and damaged archives
    raise ``TreeFormatError``.
    """
    if isinstance(source, (str, os.PathLike)):
        return _without_marks(_path_lines(os.fspath(source)))
    return _without_marks(_stream_lines(source, source_name(source)))


def plain_text(text: str, file: str) -> str:
    """``text`` as it would be read from a file of this name."""
    return "".join([line for _, line in _without_marks(_stream_lines(StringIO(text, newline="\n"), file))])


def _without_marks(lines: NumberedLines) -> NumberedLines:
    """The lines without carriage returns at their ends, and without a byte-order mark at the start."""
    for number, line in lines:
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line.endswith("\r\n"):
            line = line[:-2] + "\n"
        yield number, line.removesuffix("\r")


def _path_lines(path: str) -> NumberedLines:
    """The numbered lines of a file."""
    number = 0
    stream, damages = _open_binary(path)
    with stream:
        try:
            for number, line in enumerate(stream, start=1):
                yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            column = len(error.object[: error.start].decode("utf-8")) + 1
            problem = f"expected UTF-8, found the byte 0x{error.object[error.start]:02x}"
            raise TreeFormatError(problem, file=path, line=number, column=column) from error
        except damages as error:
            problem = f"expected a whole archive, found damage: {error}"
            raise TreeFormatError(problem, file=path, line=number + 1, column=1) from error


def _stream_lines(stream: IO[str], file: str) -> NumberedLines:
    """The numbered lines of an open text stream."""
    number = 0
    try:
        for number, line in enumerate(stream, start=1):
            if not isinstance(line, str):
                raise ValueError(f"source: expected a stream opened as text, got {type(line).__name__}")
            place = lone_surrogate(line)
            if place >= 0:
                raise TreeFormatError(_surrogate(line[place]), file=file, line=number, column=place + 1)
            yield number, line
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        problem = f"expected {error.encoding}, found the byte 0x{byte:02x} on this line or later"
        raise TreeFormatError(problem, file=file, line=number + 1, column=1) from error


def _surrogate(character: str) -> str:
    """The message for a lone surrogate, which stands for a byte in a stream with ``surrogateescape``."""
    if "\udc80" <= character <= "\udcff":
        return f"expected UTF-8, found the byte 0x{ord(character) - 0xDC00:02x}"
    return f"expected text that UTF-8 can hold, found the lone surrogate {character!r}"


def open_for_writing(path: str, ending: str) -> IO[str]:
    """A text file to write to, compressed if ``ending`` is that of an archive."""
    match ending:
        case ".xz":
            import lzma

            return lzma.open(path, "wt", encoding="utf-8", newline="\n")
        case ".gz":
            import gzip

            return gzip.open(path, "wt", encoding="utf-8", newline="\n")
        case ".bz2":
            import bz2

            return bz2.open(path, "wt", encoding="utf-8", newline="\n")
    return open(path, "w", encoding="utf-8", newline="\n")


def _open_binary(path: str) -> tuple[BinaryIO, tuple[type[Exception], ...]]:
    """The bytes of a file, decompressed by its ending, and the errors that mean a damaged archive."""
    match PurePath(path).suffix:
        case ".xz":
            import lzma

            return BufferedReader(lzma.open(path)), (lzma.LZMAError, EOFError)
        case ".gz":
            import gzip
            import zlib

            if os.path.isfile(path) and os.path.getsize(path) == 0:  # which gzip reads as no text
                problem = "expected a whole archive, found an empty file"
                raise TreeFormatError(problem, file=path, line=1, column=1)
            return BufferedReader(gzip.open(path)), (gzip.BadGzipFile, zlib.error, EOFError)
        case ".bz2":
            import bz2

            return BufferedReader(bz2.open(path)), (OSError, EOFError)
    return open(path, "rb"), ()
