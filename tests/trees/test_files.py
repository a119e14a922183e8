"""Files: compressed or not, with any line ends, and errors that name the line."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from treeformer.trees import Tree, TreeFormatError, read_trees, write_trees

TEXT = "(S (NN a))\n(S (NN \u00e9))\n"
COMPRESSORS = [(".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)]


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), *COMPRESSORS])
def test_the_ending_gives_the_compression(
    suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"trees{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    assert [tree.words for tree in read_trees(path)] == [("a",), ("\u00e9",)]
    assert [tree.words for tree in read_trees(str(path))] == [("a",), ("\u00e9",)]


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSORS)
def test_damaged_archives_are_refused(
    suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"trees{suffix}"
    for content in (b"(S (NN a))\n" * 50, compress(TEXT.encode())[:-9], b""):
        path.write_bytes(content)
        with pytest.raises(TreeFormatError, match=rf"trees{suffix}:\d:1: expected a whole archive"):
            list(read_trees(path))


def test_bytes_that_are_not_utf8_are_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes("(S (NN é))\n(S (NN é) (NN ".encode() + b"\xe9))\n")
    with pytest.raises(TreeFormatError, match="latin:2:15: expected UTF-8, found the byte 0xe9"):
        list(read_trees(path))
    with open(path, encoding="utf-8") as stream, pytest.raises(TreeFormatError, match="found the byte 0xe9"):
        list(read_trees(stream))


def test_carriage_returns_before_newlines_and_a_byte_order_mark_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "windows"
    path.write_bytes(b"\xef\xbb\xbf(S\r\n  (NN\r\n a))\r\n")
    assert [tree.words for tree in read_trees(path)] == [("a",)]


def test_a_stream_of_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="source: expected a stream opened as text, got bytes"):
        list(read_trees(io.BytesIO(b"(S (NN a))")))  # type: ignore[arg-type]


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    for name in ("none", "none.xz"):
        with pytest.raises(FileNotFoundError):
            list(read_trees(tmp_path / name))


@pytest.mark.parametrize("ending", ["", ".xz", ".gz", ".bz2"])
def test_what_is_written_is_read_back_compressed_or_not(tmp_path: Path, ending: str) -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VBZ sleeps))")
    path = tmp_path / f"trees{ending}"
    write_trees([tree, tree], path)
    assert list(read_trees(path)) == [tree, tree]
    assert path.read_bytes().startswith(b"(S") == (ending == "")
