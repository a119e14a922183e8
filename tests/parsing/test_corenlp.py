"""CoreNLP parses, against the real server: ``make test-java`` installs it first and names its folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from treeformer.parsing import installation
from treeformer.parsing.corenlp import CoreNlpParser
from treeformer.parsing.corenlp_server import free_port
from treeformer.trees import Tree

pytestmark = pytest.mark.java

NASTY = [
    ["(", "-LRB-", ")", "-RRB-", "f(x)", "\\-LRB-", "\\(", "[", "]", "{", "}"],
    ["*NL*", "\\n", "--", "...", "``", "''", '"', "“", "”", "‘", "<", ">", "&", "&amp;", "<br/>", "%", "+"],
    ["\x00", "\x01\x7f", "a\u00a0b", "c\u3000d", "e\u2028f", "g\x85h", "\u200b", "\ufeff", "k\x0bl"],
    ["😀", "👩\u200d👩\u200d👧", "e\u0301", "日本語", "עברית", "\ufdfd", "\uff21\uff11", "\U0001d518"],
    ["x" * 20_000, "word", "9" * 5_000],
    ["au", "im", "du", "des", "zur", "26.", "September", "aujourd'hui", "don't", "cannot"],
    ["1/2", "3.14", "U.S.", "z.B.", "http://a.b/c?d=(e)", "?", "#", "="],
    ["."],
]
TEXTS = {
    "en": "The cat (a tabby) sleeps. Does it dream? Of 1 1/2 mice!",
    "de": "Die Katze (grau) schläft im Garten. Träumt sie am 26. Mai?",
    "fr": "Le chat (gris) dort au soleil. Rêve-t-il du jardin et de 25 000 souris ?",
}
ONE_TREE = {
    "en": "(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))",
    "de": "(ROOT (NUR (S (NP (DET Die) (NOUN Katze)) (VERB schläft)) (PUNCT .)))",
    "fr": "(ROOT (SENT (NP (DET Le) (NOUN chat)) (VN (AUX est)) (AP (ADJ noir)) (PUNCT .)))",
}


@pytest.fixture(scope="module", params=["en", "de", "fr"])
def parser(request: pytest.FixtureRequest) -> Iterator[CoreNlpParser]:
    with CoreNlpParser(request.param, memory="3g") as parser:
        yield parser


@pytest.fixture
def small() -> Iterator[CoreNlpParser]:
    """The parser that starts fastest."""
    with CoreNlpParser("de", model="sr", memory="1500m", threads=2) as parser:
        yield parser


class TestParsing:
    def test_given_tokens_are_the_leaves(self, parser: CoreNlpParser) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            trees = parser.parse_tokens(NASTY)
        assert [list(tree.words) for tree in trees] == NASTY
        assert all(tree.labels[-1] == "ROOT" for tree in trees)
        for tree in trees:
            assert Tree.from_brackets(str(tree), unary="keep", strip=False) == tree

    @pytest.mark.filterwarnings("ignore:.*its tree is flat")
    def test_long_sentences_keep_their_tokens(self, parser: CoreNlpParser) -> None:
        sentences = [["house"] * 500, ["house", ",", "(", ")"] * 500]
        assert [list(tree.words) for tree in parser.parse_tokens(sentences)] == sentences

    def test_trees_of_tokens_and_of_texts_agree(self, parser: CoreNlpParser) -> None:
        expected = Tree.from_brackets(ONE_TREE[parser.language], unary="keep", strip=False)
        assert parser.parse_tokens([expected.words]) == [expected]
        assert parser.parse_texts([" ".join(expected.words[:-1]) + "."]) == [[expected]]

    def test_sentences_are_split_and_words_keep_their_brackets(self, parser: CoreNlpParser) -> None:
        expected = {
            "en": ["The cat ( a tabby ) sleeps .", "Does it dream ?", "Of 1\u00a01/2 mice !"],
            "de": ["Die Katze ( grau ) schläft in dem Garten .", "Träumt sie an dem 26. Mai ?"],
            "fr": [
                "Le chat ( gris ) dort à le soleil .",
                "Rêve -t-il de le jardin et de 25\u00a0000 souris ?",
            ],
        }
        [trees] = parser.parse_texts([TEXTS[parser.language]])
        assert [" ".join(tree.words) for tree in trees] == expected[parser.language]

    def test_a_text_is_parsed_alike_alone_and_among_others(self, parser: CoreNlpParser) -> None:
        text = TEXTS[parser.language]
        texts = [
            text,
            "",
            "etc.",
            "a <b",
            "c> d (e",
            "😀 " + text,
            "X.",
            text.replace(". ", ".\n"),
            "f) g",
            "\t\n",
        ]
        texts += [
            "at 6 p.m.",
            "A cat.",
            "James I.",
            "1 no.",
            "5 …",
            "well......",
            "Mr.",
            "Smith",
            "\ufeffa",
            "'",
        ]
        alone = [parser.parse_texts([text])[0] for text in texts]
        assert parser.parse_texts(texts * 5) == alone * 5
        assert alone[7] == alone[0]
        assert alone[1] == alone[9] == []

    def test_a_text_without_words_has_no_trees(self, parser: CoreNlpParser) -> None:
        assert parser.parse_texts(["", " ", "\n\n", "\x00", "\u3000"]) == [[]] * 5
        assert parser.parse_texts([]) == []

    def test_control_characters_do_no_harm(self, parser: CoreNlpParser) -> None:
        with_controls = "".join(chr(code) for code in range(32)) + "house\x00 \x7f\x80 house \ud800."
        [trees] = parser.parse_texts([with_controls])
        assert [word for tree in trees for word in tree.words].count("house") == 2

    def test_a_text_of_100_000_characters(self, parser: CoreNlpParser) -> None:
        text = TEXTS[parser.language] + " "
        [trees] = parser.parse_texts([text * (100_000 // len(text) + 1)])
        assert len(trees) % len(parser.parse_texts([text])[0]) == 0
        assert sum(len(tree.words) for tree in trees) > 10_000

    def test_a_sentence_that_takes_too_long_is_flat(self, parser: CoreNlpParser) -> None:
        parser._server._timeout = 0.001
        try:
            with pytest.warns(UserWarning, match=r"sentences\[0\]: .*timed out.*flat"):
                trees = parser.parse_tokens([["house"] * 2000])
            with pytest.warns(UserWarning, match="one by one|flat"):
                [texts] = parser.parse_texts(["house " * 2000])
        finally:
            parser._server._timeout = 60.0
        assert str(trees[0]) == f"(ROOT (FRAG{' (X house)' * 2000}))"
        assert [word for tree in texts for word in tree.words] == ["house"] * 2000


class TestServer:
    def test_a_killed_server_is_started_again(self, small: CoreNlpParser) -> None:
        texts = ["Die Katze schläft im Garten.", "Der Hund bellt laut."] * 500
        expected = small.parse_texts(texts)
        started = time.monotonic()
        assert small.parse_texts(texts) == expected
        first = _java(small)
        killer = threading.Timer((time.monotonic() - started) / 4, os.kill, (first, signal.SIGKILL))
        killer.start()
        assert small.parse_texts(texts) == expected
        killer.join()
        assert _java(small) != first

    def test_a_server_that_cannot_be_started_again_is_an_error(
        self, small: CoreNlpParser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small.parse_tokens([["Hallo"]])
        monkeypatch.setattr(small._server, "_options", ["-Xmx1m"])
        os.kill(_java(small), signal.SIGKILL)
        with pytest.raises(OSError, match=r"did not start: .*heap"):
            small.parse_tokens([["Hallo"]])

    def test_a_server_that_dies_twice_is_an_error(
        self, small: CoreNlpParser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small.parse_tokens([["Hallo"]])
        ask = small._server._ask

        def die(text: str, properties: dict[str, str]) -> object:
            if text == "Hallo":
                os.kill(_java(small), signal.SIGKILL)
            return ask(text, properties)

        monkeypatch.setattr(small._server, "_ask", die)
        with pytest.raises(OSError, match=r"CoreNLP's server died twice .* it ended with status 137"):
            small.parse_tokens([["Hallo"]])

    def test_close_stops_it(self) -> None:
        parser = CoreNlpParser("de", model="sr", memory="1500m")
        parser.parse_tokens([["Hallo"]])
        java = _java(parser)
        parser.close()
        assert _gone(java)
        parser.close()
        with pytest.raises(ValueError, match="closed"):
            parser.parse_tokens([["Hallo"]])

    def test_it_does_not_outlive_a_parent_that_is_killed(self) -> None:
        code = (
            "from tests.parsing.test_corenlp import CoreNlpParser, _java\n"
            "parser = CoreNlpParser('de', model='sr', memory='1500m')\n"
            "parser.parse_tokens([['Hallo']])\n"
            "print(_java(parser), flush=True)\n"
            "input()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            java = int(parent.stdout.readline())
            parent.kill()
        assert _gone(java)

    def test_the_address_of_a_running_server(self) -> None:
        with _running_server() as (process, address):
            with CoreNlpParser("de", model="sr", address=address) as parser:
                assert parser.name == "corenlp:de:sr"
                [trees] = parser.parse_texts([TEXTS["de"]])
                assert len(trees) == 2
                assert parser.parse_tokens(NASTY[:1])[0].words == tuple(NASTY[0])
            assert process.poll() is None
            with pytest.raises(OSError, match=r"cannot parse: .*missing model file"):
                CoreNlpParser("en", model="sr", address=address)
        with pytest.raises(OSError, match=f"no CoreNLP server answers at {address}"):
            CoreNlpParser("de", model="sr", address=address)

    def test_strangers_cannot_use_our_server(self, small: CoreNlpParser) -> None:
        small.parse_tokens([["Hallo"]])
        with pytest.raises(OSError, match="status 401"):
            CoreNlpParser("de", model="sr", address=f"http://127.0.0.1:{small._server._port}")

    def test_a_port_that_is_taken(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with (
                CoreNlpParser("de", model="sr", port=port) as parser,
                pytest.raises(OSError, match=f"port {port}: .*in use.*0 for any"),
            ):
                parser.parse_tokens([["Hallo"]])

    def test_too_little_memory(self) -> None:
        with (
            CoreNlpParser("de", memory="100m") as parser,
            pytest.raises(OSError, match=r"did not start: .*memory") as caught,
        ):
            parser.parse_tokens([["Hallo"]])
        assert "\n" not in str(caught.value)

    def test_no_java(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(FileNotFoundError, match="java not found"):
            CoreNlpParser("de")


class TestModels:
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_pcfg(self, language: str) -> None:
        with CoreNlpParser(language, model="pcfg", memory="2g") as parser:
            assert parser.name.endswith(f":{language}:pcfg")
            expected = Tree.from_brackets(ONE_TREE[language])
            [tree] = parser.parse_tokens([expected.words])
            assert tree.words == expected.words
            assert tree.labels[-1] == "ROOT"
            assert (0, 2) in tree.spans
            with pytest.warns(UserWarning, match="too long"):
                [tree] = parser.parse_tokens([["house"] * 201])
            assert tree.labels == ("FRAG", "ROOT")

    def test_caseless(self) -> None:
        with CoreNlpParser("en", model="sr", caseless=True, memory="2g") as parser:
            assert parser.name.endswith(":en:sr:caseless")
            [tree] = parser.parse_tokens([["john", "lives", "in", "paris", "."]])
            assert tree.tags == ("NNP", "VBZ", "IN", "NNP", ".")

    def test_unsplit_words(self) -> None:
        with CoreNlpParser("fr", model="sr", unsplit=True, memory="2g") as parser:
            [[tree]] = parser.parse_texts(["Il rêve du jardin."])
            assert tree.words == ("Il", "rêve", "du", "jardin", ".")


def _java(parser: CoreNlpParser) -> int:
    """The process that the watchdog of a parser's server watches."""
    watchdog = parser._server._process.pid  # type: ignore[attr-defined]
    return int(Path(f"/proc/{watchdog}/task/{watchdog}/children").read_text())


@contextmanager
def _running_server() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server that someone else started, with German models alone."""
    port = free_port(0)
    command = ["java", "-Xmx1500m", "-cp", installation.find("de").class_path]
    main = "edu.stanford.nlp.pipeline.StanfordCoreNLPServer"
    with subprocess.Popen(
        [*command, main, "-port", str(port), "-quiet", "true"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            while process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
                    break
                time.sleep(0.1)
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _gone(process: int, patience: float = 20.0) -> bool:
    """Whether a process ends soon."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
