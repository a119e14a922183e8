"""CoreNLP's parser before any Java runs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cli.command import treeformer
from treeformer.parsing import installation
from treeformer.parsing.corenlp import CoreNlpParser, by_line, is_doubtful
from treeformer.parsing.corenlp_server import free_port, parse_address

CORE = f"stanford-corenlp-{installation.VERSION}.jar"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """A folder that looks like CoreNLP with German models."""
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in (CORE, CORE.replace(".jar", "-models-german.jar"), "ejml-core.jar"):
        (folder / name).touch()
    return folder


def program(folder: Path, name: str, script: str) -> None:
    """A program of this name that runs a shell script."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"language": "es"}, "language = 'es': expected one of en, de, fr"),
            ({"model": "rnn"}, "model = 'rnn': expected one of srbeam, sr, pcfg for 'en'"),
            ({"language": "fr", "model": "pcfg"}, "expected one of srbeam, sr for 'fr'"),
            ({"language": "de", "caseless": True}, "caseless = True: expected language 'en', got 'de'"),
            ({"threads": 0}, "threads = 0: expected at least 1"),
            ({"timeout": 0}, "timeout = 0: expected more than 0 seconds"),
            ({"address": "localhost"}, "address = 'localhost': expected http://HOST:PORT"),
        ],
    )
    def test_wrong_ones_are_named(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            CoreNlpParser(**options)  # type: ignore[arg-type]

    @pytest.mark.parametrize("memory", ["", "4 g", "lots", "-1g"])
    def test_memory(self, jars: Path, memory: str) -> None:
        with pytest.raises(ValueError, match=r"memory = .*such as '4g'"):
            CoreNlpParser("de", folder=jars, memory=memory)

    @pytest.mark.parametrize(
        "address",
        ["", "localhost:9000", "https://a:1", "http://a", "http://a:b", "http://a:1/b", "http://:1"],
    )
    def test_wrong_addresses(self, address: str) -> None:
        with pytest.raises(ValueError, match=r"expected http://HOST:PORT"):
            parse_address(address)

    def test_addresses(self) -> None:
        assert parse_address("http://127.0.0.1:9000/") == ("127.0.0.1", 9000)
        assert parse_address("http://[::1]:80") == ("::1", 80)

    def test_nobody_at_the_address(self) -> None:
        address = f"http://127.0.0.1:{free_port(0)}"
        with pytest.raises(OSError, match=f"no CoreNLP server answers at {address}"):
            CoreNlpParser(address=address)

    def test_a_port_that_is_taken(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(OSError, match=f"port {port}: .* name another port, or 0"):
                free_port(port)
        with pytest.raises(ValueError, match="expected 0 to 65535"):
            free_port(70_000)

    def test_a_port_that_cannot_be(self, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program(tmp_path / "bin", "java", "exit 3")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        with (
            CoreNlpParser("de", folder=jars, port=70_000) as parser,
            pytest.raises(ValueError, match="port = 70000: expected 0 to 65535"),
        ):
            parser.parse(["Los!"])


class TestJava:
    def test_missing(self, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(FileNotFoundError, match="java not found: CoreNLP needs Java 8 or newer"):
            CoreNlpParser("de", folder=jars)

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ("java.lang.UnsupportedClassVersionError: Unsupported major.minor", "this Java is too old"),
            (
                "Invalid maximum heap size: -Xmx9g\nError: Could not create",
                "Invalid maximum heap size: -Xmx9g",
            ),
            ("java.lang.OutOfMemoryError: Java heap space\n\tat a.b.C", "Java ran out of memory .* more"),
            ("", "it ended with status 3"),
        ],
    )
    def test_that_dies_at_the_start(
        self, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, message: str
    ) -> None:
        program(tmp_path / "bin", "java", f"printf '%s' '{output}'; exit 3")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        with (
            CoreNlpParser("de", folder=jars) as parser,
            pytest.raises(OSError, match=f"CoreNLP's server did not start: {message}") as caught,
        ):
            parser.parse_tokens([["Hallo"]])
        assert "\n" not in str(caught.value)


class TestJars:
    def test_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CORENLP_HOME", str(tmp_path / "home"))
        with pytest.raises(FileNotFoundError, match=r"no CoreNLP in .*home: run `treeformer parser install"):
            CoreNlpParser()

    def test_models_missing(self, jars: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"lacks .*models-french.jar .*corenlp --language fr`"):
            CoreNlpParser("fr", folder=jars)

    def test_the_default_is_among_the_users_data(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CORENLP_HOME", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", "/data")
        assert installation.chosen_folder() == Path("/data/treeformer/corenlp")

    def test_one_version_and_one_language_are_on_the_class_path(self, jars: Path) -> None:
        for name in ("stanford-corenlp-4.5.9.jar", CORE.replace(".jar", "-models.jar")):
            (jars / name).touch()
        installed = installation.find("de", jars)
        assert installed.version == installation.VERSION
        names = [Path(name).name for name in installed.class_path.split(":")]
        assert names == [CORE, CORE.replace(".jar", "-models-german.jar"), "ejml-core.jar"]


class TestInstalling:
    def test_needs_maven(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        done = treeformer("parser", "install", "corenlp", "--folder", str(tmp_path / "jars"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("treeformer: mvn not found")
        assert not (tmp_path / "jars").exists()

    def test_an_installation_is_not_repeated(
        self, jars: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("PATH", "")
        installation.install(jars, ["de"])
        assert "already" in capsys.readouterr().out

    def test_a_failure_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program(
            tmp_path / "bin", "mvn", 'touch "$(dirname "$5")/half.jar"; echo "[ERROR] no network"; exit 1'
        )
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        with pytest.raises(OSError, match=r"Maven could not fetch CoreNLP: \[ERROR\] no network"):
            installation.install(tmp_path / "jars", ["de"])
        assert list((tmp_path / "jars").iterdir()) == []

    @pytest.mark.parametrize("arguments", [["other"], ["corenlp", "--language", "es"]])
    def test_unknown_names(self, arguments: list[str]) -> None:
        done = treeformer("parser", "install", *arguments)
        assert done.returncode == 1
        assert "expected" in done.stderr


class TestBatches:
    def test_sentences_go_to_their_lines(self) -> None:
        spans = [(0, 3), (5, 10), (11, 12), (13, 14)]  # in UTF-16, as Java counts
        sentences = [{"tokens": [{"characterOffsetBegin": a, "characterOffsetEnd": b}]} for a, b in spans]
        assert [len(line) for line in by_line(sentences, ["a b", "", "😀 c. d", "e"])] == [1, 0, 2, 1]
        assert by_line(sentences, ["a", "b", "😀 c. d", "e"]) == []

    @pytest.mark.parametrize("line", ["He left .", "He left", "Why ?", "so (", "26"])
    def test_most_ends_are_clear(self, line: str) -> None:
        assert not is_doubtful([{"tokens": [{"word": word} for word in line.split()]}])

    @pytest.mark.parametrize("line", ["6 p.m. .", "6 p.m.", "James I .", "well ......", ".", "", "in 1990 ."])
    def test_an_end_that_depends_on_what_follows_is_doubtful(self, line: str) -> None:
        assert is_doubtful([{"tokens": [{"word": word} for word in line.split()]}])


class TestTokens:
    @pytest.mark.parametrize(
        ("words", "message"), [([], "at least one token"), (["a b"], "separator"), ([""], "empty")]
    )
    def test_that_no_tree_can_have(self, jars: Path, words: list[str], message: str) -> None:
        with CoreNlpParser("de", folder=jars) as parser, pytest.raises(ValueError, match=message):
            parser.parse_tokens([["a"], words])
