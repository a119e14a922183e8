"""Whole files: one line of trees for each line, in order, resumed after an interruption."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from treeformer.parsing import Parser
from treeformer.parsing.corpus import CHUNK_CHARACTERS, CHUNK_LINES, TreeLine, line_chunks, parse_lines
from treeformer.parsing.lifeline import blocked_interrupts, end_with_parent
from treeformer.parsing.line_parser import LineParser
from treeformer.trees import Tree, read_tree_lines, read_trees, right_branching


class WordParser(Parser):
    """Right-branching trees over the words between full stops."""

    name = "words"
    language = "en"

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        return [[right_branching(part.split()) for part in text.split(".") if part.split()] for text in texts]

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        return [right_branching(sentence) for sentence in sentences]


def words_of(line: TreeLine) -> list[tuple[str, ...]]:
    """The words of the trees on a line."""
    trees = list(read_trees(io.StringIO(line.text)))
    assert len(trees) == line.sentences
    return [tree.words for tree in trees]


LINES = [f"word {number} . another" if number % 7 else "" for number in range(2 * CHUNK_LINES + 5)]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_line_gives_its_trees_in_order(workers: int) -> None:
    parsed = list(parse_lines(LINES, LineParser(WordParser), workers=workers))
    assert [words_of(line) for line in parsed] == [
        [("word", str(number)), ("another",)] if number % 7 else [] for number in range(len(LINES))
    ]
    line_parser = LineParser(WordParser, tokenized=True, one_per_line=True)
    whole = list(parse_lines(LINES, line_parser, workers=workers))
    assert [words_of(line) for line in whole] == [[tuple(line.split())] if line else [] for line in LINES]


def test_a_line_is_one_sentence_only_on_request() -> None:
    def words(line: str, **how: bool) -> list[tuple[str, ...]]:
        return words_of(next(parse_lines([line], LineParser(WordParser, **how))))

    assert words("It rains. Go!", one_per_line=True) == [("It", "rains", ".", "Go", "!")]
    assert words("It rains . Go ! ”", tokenized=True) == [("It", "rains", "."), ("Go", "!", "”")]
    assert words("It rains. Go !", tokenized=True, one_per_line=True) == [("It", "rains.", "Go", "!")]


def test_given_tokens_hold_whatever_a_tree_can_hold() -> None:
    line = "a\u00a0b \u2028 c\x0bd\t\x00 e\x85 (f)\rg"
    (parsed,) = parse_lines([line], LineParser(WordParser, tokenized=True))
    words = ("a\u00a0b", "\u2028", "c\x0bd", "\x00", "e\x85", "(f)", "g")
    assert words_of(parsed) == [words]


def test_long_lines_make_small_chunks() -> None:
    long = "x" * CHUNK_CHARACTERS
    lines = ["a", long, long, *"b" * CHUNK_LINES, "c"]
    assert [len(chunk) for chunk in line_chunks(lines)] == [1, 1, 1, CHUNK_LINES, 1]


@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_is_read_than_keeps_the_workers_busy(workers: int) -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for read in range(1, 20 * CHUNK_LINES):  # noqa: B007
            yield "a word"

    for done, _ in enumerate(parse_lines(lines(), LineParser(WordParser), workers=workers)):
        assert read - done <= (2 * workers + 1) * CHUNK_LINES


class SuddenDeath(WordParser):
    """A parser that takes its whole process with it."""

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        os._exit(1)


class NoProgram(WordParser):
    """A parser that cannot start."""

    def __init__(self) -> None:
        raise FileNotFoundError("no program")


@pytest.mark.parametrize(
    ("parser", "message"), [(SuddenDeath, "a worker process died"), (NoProgram, "no program")]
)
def test_the_error_of_a_worker_is_raised(parser: type[Parser], message: str) -> None:
    with pytest.raises(OSError, match=message):
        list(parse_lines(LINES, LineParser(parser), workers=2))


class Sleeper(WordParser):
    """A parser that notes its process and then takes a minute."""

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        Path(os.environ["NOTES"], str(os.getpid())).touch()
        time.sleep(60)
        return super().parse_texts(texts)


PARENT = """
import signal
from tests.parsing.test_corpus import LINES, LineParser, Sleeper, parse_lines
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background jobs
    list(parse_lines(LINES, LineParser(Sleeper), workers=2))
"""


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(number: int, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    notes = tmp_path / "notes"
    notes.mkdir()
    environment = {**os.environ, "NOTES": str(notes), "PYTHONPATH": str(Path(__file__).parents[2])}
    deadline = time.monotonic() + 60
    with subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.PIPE) as parent:
        while len(list(notes.iterdir())) < 2:
            assert parent.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        parent.send_signal(number)
    workers = [int(path.name) for path in notes.iterdir()]
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class SlowToStart:
    """Makes a parser, but takes minutes to arrive in a worker."""

    def __reduce__(self) -> tuple[object, tuple[float]]:
        (Path(os.environ["NOTES"]) / "starting").touch()  # when it is sent
        return time.sleep, (300,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_workers_that_are_still_starting_end_with_an_interrupt(number: int, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.replace("Sleeper", "SlowToStart").replace("(SlowToStart)", "(SlowToStart())"))
    environment = {**os.environ, "NOTES": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.PIPE) as parent:
        while not (tmp_path / "starting").exists():
            assert parent.poll() is None
            time.sleep(0.01)
        parent.send_signal(number)
        parent.communicate(timeout=120)
    assert parent.returncode


def test_processes_of_others_outlive_the_workers() -> None:
    lines = parse_lines(LINES, LineParser(WordParser), workers=2)
    next(lines)
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    lines.close()  # type: ignore[attr-defined]
    assert other.is_alive()
    other.kill()
    other.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_a_process_is_started(number: int) -> None:
    seen: list[int] = []
    before = signal.signal(number, lambda number, frame: seen.append(number))
    try:
        with blocked_interrupts():
            signal.pthread_kill(threading.get_ident(), number)
            assert not seen
        assert seen == [number]
    finally:
        signal.signal(number, before)


def test_workers_end_when_a_pipe_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeformer.parsing.lifeline.sys.platform", "darwin")  # no signal of the kernel
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=wait_with_lifeline, args=(reader, writer))
    process.start()
    writer.close()
    process.join(20)
    assert process.exitcode == 1


def wait_with_lifeline(lifeline: Connection, other_end: Connection) -> None:
    other_end.close()
    end_with_parent(lifeline)
    time.sleep(60)


def test_a_killed_run_resumes_without_a_lost_or_repeated_line(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.write_text("".join(f"The cat number {k} sleeps. It purrs.\n\n" for k in range(3000)))
    output, partial = tmp_path / "trees", tmp_path / ".trees.treeformer" / "trees"
    command = [sys.executable, "-m", "treeformer", "parse", str(texts), "--output", str(output)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (partial.exists() and partial.stat().st_size > 20_000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    assert not output.exists()
    subprocess.run(command, check=True, capture_output=True)
    lines = list(read_tree_lines(output, unary="keep"))
    assert len(lines) == 6000
    for number, trees in enumerate(lines[::2]):
        assert [len(tree.words) for tree in trees] == [6, 3]
        assert trees[0].words[3] == str(number)
    assert not any(lines[1::2])
