"""Stanford CoreNLP, the parser of the paper, behind its own server."""

from __future__ import annotations

import os
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, chain
from typing import Any

from treeformer.chunking import split_by_total
from treeformer.parsing import installation
from treeformer.parsing.corenlp_server import ManagedServer, RefusedError, Server
from treeformer.parsing.failures import FlatTreeWarning, Parsed, failed, joined
from treeformer.parsing.parser import Parser, check_timeout, checked_sentences, checked_texts
from treeformer.trees import Tree

Properties = dict[str, str]
Sentence = dict[str, Any]  # from CoreNLP's JSON: its parse and its tokens
Answer = list[Sentence] | str  # the sentences of a text, or why CoreNLP refused it

_STEM = {"en": "english", "de": "german", "fr": "french"}
_TAGGER = {"en": "english-left3words-distsim", "de": "german-ud", "fr": "french-ud"}
_MODELS = "edu/stanford/nlp/models"
_REQUEST_LINES = 32
_REQUEST_CHARACTERS = 20_000
_LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACE = re.compile(r"[^\S\u00a0\u2007\u202f]")  # where CoreNLP would split a given token
_SEPARATOR = re.compile(r"[ \t\r\n]")
_PRETERMINAL = re.compile(r"\(([^\s()]+) [^()]+\)")


class CoreNlpParser(Parser):
    """CoreNLP for English, German or French, in a server that is started by the first request.

    A sentence that CoreNLP fails on, or that takes too long, gets a flat tree. `parse_texts` and
    `parse_tokens` warn of it; `try_texts` and `try_tokens` return the failure.

    Args:
        language: ``en``, ``de`` or ``fr``.
        model: ``srbeam`` or ``sr``, shift-reduce with and without a beam, or ``pcfg`` (not for French).
        unsplit: keep German and French contractions in trees of texts, where CoreNLP writes *in dem* for *im*
            and *de le* for *du*; given tokens are never split.
        caseless: tag English without regard to case, for text in lower case.
        folder: CoreNLP's jars; default: ``CORENLP_HOME``, else where ``treeformer parser install`` puts them.
        memory: Java's largest heap.
        threads: number of concurrent requests.
        port: port of the server; 0 for any free port.
        timeout: seconds for a request; the lines of a batch that takes longer are parsed one by one.
        address: address of a running server, ``http://HOST:PORT``; then none is started or stopped.
    """

    def __init__(
        self,
        language: str = "en",
        *,
        model: str = "srbeam",
        unsplit: bool = False,
        caseless: bool = False,
        folder: str | os.PathLike[str] | None = None,
        memory: str = "4g",
        threads: int = 2,
        port: int = 0,
        timeout: float = 60.0,
        address: str | None = None,
    ) -> None:
        _check(language, model, caseless, threads, timeout)
        self.language = language
        self._threads = threads
        self._for_tokens, self._for_texts = _properties(language, model, caseless)
        unsplit = unsplit and language != "en"
        if unsplit:
            self._for_texts["annotators"] = self._for_tokens["annotators"]
        self._server: Server
        backend = "corenlp"
        if address is not None:
            self._server = Server(address, timeout=timeout)
            self._check_models()
        else:
            jars = installation.find(language, folder)
            backend = f"corenlp-{jars.version}"
            self._server = ManagedServer(
                jars.class_path,
                memory=memory,
                threads=threads,
                port=port,
                timeout=timeout,
                warm_up=self._for_tokens,
            )
        parts = [backend, language, model]
        if unsplit:
            parts.append("unsplit")
        if caseless:
            parts.append("caseless")
        self.name = ":".join(parts)

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        """Trees of the sentences of each text, ``[]`` for a text without words."""
        parsed = self.try_texts(checked_texts(texts))
        _warn(parsed, "texts")
        return [text.trees for text in parsed]

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        parsed = self.try_tokens(checked_sentences(sentences))
        _warn(parsed, "sentences")
        return [sentence.trees[0] for sentence in parsed]

    def try_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Trees and failures of each text."""
        parsed = []
        for text, answer in zip(texts, self._in_batches(self._ask_texts, texts), strict=True):
            if isinstance(answer, str):
                parsed.append(self._parse_by_sentence(text, answer))
            else:
                parsed.append(joined([_parsed(sentence, _words(sentence)) for sentence in answer]))
        return parsed

    def try_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        """One tree for each sentence of given tokens, flat with a failure where there is no parse."""
        lines = [" ".join(map(_sendable, words)) for words in sentences]
        answers = self._in_batches(self._ask_lines, lines)
        parsed = []
        for words, line, answer in zip(sentences, lines, answers, strict=True):
            if isinstance(answer, str):
                parsed.append(failed(words, answer))
            elif [[token["word"] for token in one["tokens"]] for one in answer] == [line.split(" ")]:
                parsed.append(_parsed(answer[0], words))
            else:
                parsed.append(failed(words, "CoreNLP changed the tokens"))
        return parsed

    def close(self) -> None:
        """Stop the server, unless it was running before."""
        self._server.close()

    def _in_batches(self, ask: Callable[[list[str]], list[Answer]], lines: Sequence[str]) -> list[Answer]:
        """The answers to all lines, asked for in concurrent requests of limited size."""
        batches = list(split_by_total(lines, len, budget=_REQUEST_CHARACTERS, most=_REQUEST_LINES))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(chain.from_iterable(pool.map(ask, batches)))

    def _ask(self, text: str, properties: Properties) -> Answer:
        """The sentences of a text, or why CoreNLP refused it."""
        if not text.strip():
            return []
        try:
            sentences: list[Sentence] = self._server.ask(text, properties)["sentences"]
            return sentences
        except RefusedError as error:
            return str(error)

    def _ask_texts(self, texts: list[str]) -> list[Answer]:
        """Answers to texts: in one request with a line for each, then alone where that could matter."""
        answers: list[list[Sentence]] = [[] for _ in texts]
        if len(texts) > 1:
            lines = ["" if _LINE_BREAK.search(text) else text for text in texts]
            together = {**self._for_texts, "ssplit.newlineIsSentenceBreak": "always"}
            answer = self._ask("\n".join(lines), together)
            if isinstance(answer, list):
                answers = by_line(answer, lines) or answers
        return [
            self._ask(text, self._for_texts) if is_doubtful(answer) else answer
            for text, answer in zip(texts, answers, strict=True)
        ]

    def _ask_lines(self, lines: list[str]) -> list[Answer]:
        """Answers to lines of tokens: in one request, then one by one if that fails."""
        answer = self._ask("\n".join(lines), self._for_tokens)
        if len(lines) == 1:
            return [answer]
        if isinstance(answer, list) and len(answer) == len(lines):
            return [[sentence] for sentence in answer]
        return [self._ask(line, self._for_tokens) for line in lines]

    def _parse_by_sentence(self, text: str, problem: str) -> Parsed:
        """A text that CoreNLP refused as a whole: split first, then parsed sentence by sentence."""
        without_parser = self._for_texts["annotators"].removesuffix(",pos,parse")
        answer = self._ask(text, {**self._for_texts, "annotators": without_parser})
        sentences = [text.split()] if isinstance(answer, str) else [_words(sentence) for sentence in answer]
        warnings.warn(f"{problem}; the text's {len(sentences)} sentences are parsed one by one", stacklevel=4)
        return joined(self.try_tokens(sentences))

    def _check_models(self) -> None:
        """Have a running server load the models; ``OSError`` if it has none."""
        try:
            self._server.ask("A .", self._for_tokens)
        except RefusedError as error:
            raise OSError(f"the CoreNLP server cannot parse: {error}") from error


def by_line(sentences: list[Sentence], lines: Sequence[str]) -> list[list[Sentence]]:
    """The sentences of each line of a text; ``[]`` if a sentence spans two lines."""
    lengths = [len(line.encode("utf-16-le", "replace")) // 2 for line in lines]  # Java counts UTF-16 units
    starts = [0, *accumulate(length + 1 for length in lengths)]
    grouped: list[list[Sentence]] = [[] for _ in lines]
    for sentence in sentences:
        first, last = sentence["tokens"][0], sentence["tokens"][-1]
        number = bisect_right(starts, first["characterOffsetBegin"]) - 1
        if last["characterOffsetEnd"] > starts[number] + lengths[number]:
            return []
        grouped[number].append(sentence)
    return grouped


def is_doubtful(sentences: list[Sentence]) -> bool:
    """Whether a line could have other tokens if no line followed it.

    CoreNLP decides from the text that follows whether a full stop ends an abbreviation, a sentence or both.
    Lines without a final full stop, or with one after a plain word, are certain.
    """
    words = [token["word"] for sentence in sentences for token in sentence["tokens"]]
    if words[-1:] == ["."]:
        return not _PLAIN_WORD.fullmatch(words[-2] if len(words) > 1 else "")
    return not words or "." in words[-1]


def _parsed(sentence: Sentence, words: Sequence[str]) -> Parsed:
    """The tree of a sentence over its words. Leaves in the brackets are ambiguous, so only nodes are read."""
    parse = sentence.get("parse", "")
    if not parse.startswith("(ROOT"):
        tags = [token.get("pos", "X") for token in sentence["tokens"]]
        return failed(words, "CoreNLP gave no tree (too long, or too high)", tags)
    nodes = Tree.from_brackets(_PRETERMINAL.sub(r"(\1 _)", parse), unary="keep", strip=False)
    return Parsed([Tree(words, nodes.tags, nodes.labels, nodes.spans)], [])


def _words(sentence: Sentence) -> list[str]:
    """CoreNLP's words; a space inside one (*1 000*) becomes a no-break space."""
    return [_SEPARATOR.sub("\u00a0", token["word"]) for token in sentence["tokens"]]


def _sendable(token: str) -> str:
    """The token without spaces that would split it, and not equal to CoreNLP's sign for a new line."""
    return "*NL_" if token == "*NL*" else _SPACE.sub("_", token)


def _warn(parsed: Sequence[Parsed], name: str) -> None:
    """Warn the caller of a public method of every sentence with a flat tree."""
    for number, (_, failures) in enumerate(parsed):
        for failure in failures:
            message = f"{name}[{number}]: {failure.reason}; its tree is flat"
            warnings.warn(FlatTreeWarning(message), stacklevel=3)


def _check(language: str, model: str, caseless: bool, threads: int, timeout: float) -> None:
    """Raise ``ValueError`` for options that CoreNLP does not have."""
    if language not in _STEM:
        raise ValueError(f"language = {language!r}: expected one of {', '.join(_STEM)}")
    models = ["srbeam", "sr"] if language == "fr" else ["srbeam", "sr", "pcfg"]
    if model not in models:
        raise ValueError(f"model = {model!r}: expected one of {', '.join(models)} for {language!r}")
    if caseless and language != "en":
        raise ValueError(f"caseless = True: expected language 'en', got {language!r}")
    if threads < 1:
        raise ValueError(f"threads = {threads}: expected at least 1")
    check_timeout(timeout)


def _properties(language: str, model: str, caseless: bool) -> tuple[Properties, Properties]:
    """CoreNLP's properties for given tokens and for texts."""
    stem = _STEM[language]
    tagger = "english-caseless-left3words-distsim" if caseless else _TAGGER[language]
    pcfg = f"{stem}PCFG.caseless" if caseless else f"{stem}PCFG"
    parsers = {
        "srbeam": f"srparser/{stem}SR.beam",
        "sr": f"srparser/{stem}SR",
        "pcfg": f"lexparser/{pcfg}",
    }
    common = {
        "annotators": "tokenize,pos,parse",
        "enforceRequirements": "false",
        "tokenize.language": language,
        "pos.model": f"{_MODELS}/pos-tagger/{tagger}.tagger",
        "parse.model": f"{_MODELS}/{parsers[model]}.ser.gz",
        "parse.buildgraphs": "false",
    }
    if model == "pcfg":
        common["parse.maxlen"] = "200"  # memory grows fast: a sentence of 300 words takes over 4 GB
    tokens = {**common, "tokenize.whitespace": "true", "ssplit.eolonly": "true"}
    texts = dict(common)
    if language != "en":
        texts["annotators"] = "tokenize,mwt,pos,parse"
        texts["mwt.mappingFile"] = f"{_MODELS}/mwt/{stem}/{stem}-mwt.tsv"
    if language == "de":
        texts["tokenize.postProcessor"] = (
            "edu.stanford.nlp.international.german.process.GermanTokenizerPostProcessor"
        )
    if language == "fr":
        texts["mwt.pos.model"] = f"{_MODELS}/mwt/french/french-mwt.tagger"
        texts["mwt.statisticalMappingFile"] = f"{_MODELS}/mwt/french/french-mwt-statistical.tsv"
        texts["mwt.preserveCasing"] = "false"
    return tokens, texts
