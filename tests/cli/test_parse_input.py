"""``treeformer parse`` with input, programs and disks that are not as they should be: the real command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from tests.parsing.programs import FLAT, flat_but, program
from treeformer.trees import read_tree_lines

FLAT_WORDS = flat_but("no such word", "pass")


def assert_refused(result: subprocess.CompletedProcess[str], message: str) -> None:
    assert result.returncode == 1, result
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr


class TestText:
    @pytest.mark.parametrize("size", [0, 100_000])
    def test_bytes_that_are_not_utf8_are_named_with_file_and_line(self, size: int, tmp_path: Path) -> None:
        latin = tmp_path / "latin"
        latin.write_bytes(b"fine\n" + b"x" * size + b"na\xefve\n")
        problem = f":2:{size + 3}: expected UTF-8, found the byte 0xef"
        assert_refused(treeformer("parse", str(latin)), f"{latin}{problem}")
        assert_refused(treeformer("parse", text=latin.read_bytes()), f"<stdin>{problem}")

    @pytest.mark.parametrize("from_file", [True, False])
    def test_a_line_stays_a_line_whatever_is_in_it(self, from_file: bool, tmp_path: Path) -> None:
        controls = "".join(chr(code) for code in range(32) if chr(code) != "\n")
        lines = [f"one{separator}two" for separator in "\u2028\u2029\x85\r\x0b\x0c\x1c\x1d\x1e"]
        text = "".join(f"{line}\n" for line in [*lines, "\x00", controls])
        file = tmp_path / "text"
        file.write_bytes(text.encode())
        output = tmp_path / "trees"
        arguments = ("parse", *([str(file)] if from_file else []), "--output", str(output))
        result = treeformer(*arguments, text="" if from_file else text)
        assert result.returncode == 0, result.stderr
        words = [[word for tree in trees for word in tree.words] for trees in read_tree_lines(output)]
        assert words == [["one", "two"]] * len(lines) + [[], []]

    @pytest.mark.parametrize("parser", [(), ("--parser-command", FLAT_WORDS)])
    def test_given_tokens_come_back_as_they_were(self, parser: tuple[str, ...], tmp_path: Path) -> None:
        tokens = ["a\u2028b", "c\x85d", "e\x0bf", "g\x0ch", "\x00", "\x1c", "i\u00a0j", "\ufeff", "\x7f"]
        tokens += ["(", ")", "f(x)", "-LRB-", "-RRB-", "\\-LRB-", "\\(", "()", "[", "-LCB-", "\\/"]
        output = tmp_path / "trees"
        arguments = ("parse", "--tokenized", "--one-per-line", *parser, "--output", str(output))
        result = treeformer(*arguments, text=" ".join(tokens) + "\n")
        assert result.returncode == 0, result.stderr
        assert output.read_bytes().count(b"\n") == 1
        ((tree,),) = read_tree_lines(output, unary="keep", strip=False)
        assert list(tree.words) == tokens
        assert not (tmp_path / "trees.report").exists()

    @pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "It rains. " * 10_000])
    def test_a_line_of_100_000_characters(self, text: str) -> None:
        result = treeformer("parse", text=f"{text}\nGo!\n")
        assert result.returncode == 0, result.stderr
        first, second = result.stdout.splitlines()
        assert second == "(ROOT (S (VP (VB Go)) (. !)))"
        words = [tree.words for trees in read_tree_lines(StringIO(first)) for tree in trees]
        assert "".join(word for sentence in words for word in sentence) == text.replace(" ", "")


class TestFailures:
    LINES = "All is well. This is bad. Go!\n\nIt is bad.\nIt rains.\n"

    @pytest.mark.parametrize(
        ("reaction", "reason"),
        [
            ("sys.exit('oh')", "ended with status 1: oh"),
            ("line = 'other words'", "expected 'This' as given, got 'other'"),
        ],
    )
    def test_a_sentence_that_fails_is_flat_and_reported(
        self, reaction: str, reason: str, tmp_path: Path
    ) -> None:
        output = tmp_path / "trees"
        arguments = ("--parser-command", flat_but("bad", reaction), "--output", str(output))
        result = treeformer("parse", *arguments, text=self.LINES)
        assert result.returncode == 0, result.stderr
        assert output.read_text().splitlines() == [
            "(X (Y All) (Y is) (Y well) (Y .)) (ROOT (FRAG (X This) (X is) (X bad) (X .))) (X (Y Go) (Y !))",
            "",
            "(ROOT (FRAG (X It) (X is) (X bad) (X .)))",
            "(X (Y It) (Y rains) (Y .))",
        ]
        report = [json.loads(line) for line in (tmp_path / "trees.report").read_text().splitlines()]
        assert [(entry["line"], entry["sentence"]) for entry in report] == [
            (1, "This is bad ."),
            (3, "It is bad ."),
        ]
        assert reason in report[0]["reason"]
        assert f"sentences that were not parsed and have flat trees: 2, see {output}.report" in result.stderr

    def test_a_sentence_that_takes_too_long_is_flat_and_reported(self, tmp_path: Path) -> None:
        output = tmp_path / "trees"
        arguments = ("--parser-command", flat_but("bad", "time.sleep(60)"), "--timeout", "5")
        result = treeformer("parse", *arguments, "--output", str(output), text="Go!\nSo bad\n")
        assert result.returncode == 0, result.stderr
        assert output.read_text() == "(X (Y Go) (Y !))\n(ROOT (FRAG (X So) (X bad)))\n"
        report = json.loads((tmp_path / "trees.report").read_text())
        assert report == {
            "line": 2,
            "sentence": "So bad",
            "reason": f"{sys.executable}: took longer than 5 s",
        }

    def test_on_standard_output_they_are_counted(self) -> None:
        command = flat_but("bad", "sys.exit(1)")
        result = treeformer("parse", "--parser-command", command, "--workers", "2", text=self.LINES)
        assert len(result.stdout.splitlines()) == 4
        assert "were not parsed and have flat trees: 2;" in result.stderr

    def test_a_parser_that_never_works_ends_the_run(self) -> None:
        for workers in ("1", "2"):
            arguments = ("--parser-command", program("sys.exit('no model')"), "--workers", workers)
            assert_refused(treeformer("parse", *arguments, text=self.LINES), "status 1: no model")

    def test_a_missing_program(self) -> None:
        for workers in ("1", "2"):
            arguments = ("--parser-command", "no-such-parser --fast", "--workers", workers)
            assert_refused(treeformer("parse", *arguments, text=self.LINES), "no-such-parser")

    def test_missing_java(self, tmp_path: Path) -> None:
        for name in ("stanford-corenlp-4.5.10.jar", "stanford-corenlp-4.5.10-models-german.jar", "ejml.jar"):
            (tmp_path / name).touch()
        environment = {**os.environ, "CORENLP_HOME": str(tmp_path), "PATH": str(tmp_path)}
        environment.pop("JAVA_HOME", None)
        arguments = ("parse", "--parser", "corenlp", "--language", "de")
        result = treeformer(*arguments, text=self.LINES, environment=environment)
        assert_refused(result, "java not found: CoreNLP needs Java 8 or newer")


class TestDisk:
    def test_after_a_full_disk_a_run_resumes(self, tmp_path: Path) -> None:
        text, output = tmp_path / "text", tmp_path / "trees"
        text.write_text("".join(f"The cat number {number} sleeps.\n" for number in range(600)))
        arguments = ("parse", str(text), "--parser-command", program(FLAT), "--output", str(output))
        full = treeformer(*arguments, largest_file=20_000)
        assert_refused(full, f"{output}: File too large; finished lines are kept")
        assert not output.exists()
        again = treeformer(*arguments)
        assert again.returncode == 0, again.stderr
        assert "lines of an earlier run" in again.stderr
        assert output.read_text() == treeformer(*arguments[:-2]).stdout
        assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "trees"]

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_standard_output_that_takes_no_more(self) -> None:
        command = [sys.executable, "-m", "treeformer", "parse", "--parser-command", program(FLAT)]
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                command, input=b"Go!\n", stdout=full, stderr=subprocess.PIPE, check=False, timeout=300
            )
        assert result.returncode == 1
        message = result.stderr.decode().splitlines()[-1]
        assert message == "treeformer: standard output: No space left on device"

    @pytest.mark.parametrize("from_file", [True, False])
    def test_another_parser_or_another_text_does_not_resume(self, from_file: bool, tmp_path: Path) -> None:
        file, output = tmp_path / "text", tmp_path / "trees"
        begun = tmp_path / ".trees.treeformer" / "trees"
        command = ("parse", *([str(file)] if from_file else []), "--output", str(output))
        flat = ("--parser-command", program(FLAT))

        def run(text: str, *arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
            file.write_text(text)
            return treeformer(*command, *arguments, text="" if from_file else text, largest_file=limit)

        run("It rains.\n" * 600, *flat, limit=3000)
        before = begun.read_bytes()
        assert_refused(run("It rains.\n" * 600), f"{output}: begun with parser = 'en, command")
        changed = "It rains.\n" * 20 + "It pours.\n" * 580
        assert_refused(run(changed, *flat), f"{output}: begun with another text: line 21 of the text differs")
        short = "It rains.\n"
        assert_refused(run(short, *flat), f"{output}: begun with another text: the text has only 1 lines")
        assert before.startswith(begun.read_bytes())
        assert run("It rains.\n" * 600, *flat).returncode == 0
        assert output.read_text() == "(X (Y It) (Y rains) (Y .))\n" * 600

    def test_what_cannot_be_written_or_would_be_lost_is_refused_at_once(self, tmp_path: Path) -> None:
        text, folder = tmp_path / "text", tmp_path / "folder"
        text.write_text("It rains.\n")
        folder.mkdir()
        for output, message in [
            (folder, "expected the name of a file, got a folder or a device"),
            (text, "expected another file than the text itself"),
            (tmp_path / "trees.gz", "trees are written as plain text, which .gz is not"),
            (tmp_path / "none" / "trees", "no such folder"),
        ]:
            assert_refused(treeformer("parse", str(text), "--output", str(output)), message)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "text"]
        assert text.read_text() == "It rains.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "2g"], "--memory does not go with --parser embedded: it is an option of corenlp"),
        (
            ["--timeout", "2"],
            "--timeout does not go with --parser embedded: it is an option of corenlp, command",
        ),
        (["--parser", "corenlp", "--device", "cpu"], "--device does not go with --parser corenlp"),
        (["--parser-command", "cat", "--model", "sr"], "--model does not go with --parser-command"),
        (["--parser-command", "cat", "--parser", "corenlp"], "expected one of them"),
        (["--parser-command", "cat", "--timeout", "0"], "timeout = 0: expected more than 0 seconds"),
        (
            ["--parser", "corenlp", "--address", "http://a:1", "--port", "2"],
            "--port does not go with --address",
        ),
        (["--parser", "corenlp", "--address", "nowhere"], "address = 'nowhere': expected http://HOST:PORT"),
        (["--parser", "corenlp:de", "--device", "cpu"], "--device does not go with --parser corenlp:de"),
        (["--engine", "ray", "--device", "cuda"], "--device cuda does not go with --engine ray"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], message: str) -> None:
    assert_refused(treeformer("parse", *arguments, text="Go!\n"), message)


def test_no_gpu() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert_refused(treeformer("parse", "--device", "cuda", text="Go!\n"), "device = 'cuda': expected a GPU")


def test_a_terminal_shows_a_bar(tmp_path: Path) -> None:
    text, output = tmp_path / "text", tmp_path / "trees"
    text.write_text("It rains.\n" * 300)
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "treeformer", "parse", str(text), "--output", str(output)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, env=environment, check=True, timeout=300)
    os.close(writer)
    screen = b""
    try:
        while part := os.read(reader, 65536):
            screen += part
    except OSError:  # Linux raises it when nobody can write any more
        pass
    assert b"300/300" in screen
    assert b"sentences/s" in screen
