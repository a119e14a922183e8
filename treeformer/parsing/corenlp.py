"""Stanford CoreNLP, the paper's parser, behind its own server."""

from __future__ import annotations

import os
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

from treeformer.parsing import installation
from treeformer.parsing.corenlp_server import ManagedServer, RefusedError, Server
from treeformer.parsing.parser import (
    FlatTreeWarning,
    Parser,
    check_timeout,
    checked_sentences,
    flat_tree,
    listed,
)
from treeformer.trees import Tree

Properties = dict[str, str]
Sentence = dict[str, Any]  # what CoreNLP says about one: its parse and its tokens
Answer = list[Sentence] | str  # the sentences, or why there are none

_STEM = {"en": "english", "de": "german", "fr": "french"}
_TAGGER = {"en": "english-left3words-distsim", "de": "german-ud", "fr": "french-ud"}
_MODELS = "edu/stanford/nlp/models"
_LINES = 32  # in one request, at most ...
_CHARACTERS = 20_000  # ... and of no more than this, unless one line has more
_LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_PLAIN_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACE = re.compile(r"[^\S\u00a0\u2007\u202f]")  # where CoreNLP would split a given token
_SEPARATOR = re.compile(r"[ \t\r\n]")
_PRETERMINAL = re.compile(r"\(([^\s()]+) [^()]+\)")


class CoreNlpParser(Parser):
    """CoreNLP for English, German or French, in a server of its own that starts with the first request.

    A sentence that CoreNLP fails on, or that takes too long, gets a flat tree and a warning.

    Args:
        language: ``en``, ``de`` or ``fr``.
        model: ``srbeam`` or ``sr``, shift-reduce with and without a beam, or ``pcfg`` (not for French).
        unsplit: leave German and French words as they are in trees of texts, where CoreNLP writes *in dem*
            for *im* and *de le* for *du*; given tokens are never split.
        caseless: tag English without looking at case, for text that is all lower case.
        folder: CoreNLP's jars; default: ``CORENLP_HOME``, else where ``treeformer parser install`` puts them.
        memory: Java's largest heap.
        threads: requests at a time.
        port: 0 for any that is free.
        timeout: seconds that a request may take; a batch that takes longer is parsed one by one.
        address: of a server that already runs, ``http://HOST:PORT``; then nothing is started or stopped.
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
        version = ""
        self._server: Server
        if address is not None:
            self._server = Server(address, timeout=timeout)
            _try_out(self._server, self._for_tokens)
        else:
            jars = installation.find(language, folder)
            version = f"-{jars.version}"
            self._server = ManagedServer(
                jars.class_path,
                memory=memory,
                threads=threads,
                port=port,
                timeout=timeout,
                warm_up=self._for_tokens,
            )
        self.name = f"corenlp{version}:{language}:{model}" + ":unsplit" * unsplit + ":caseless" * caseless

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        """For each text the trees of its sentences, ``[]`` for a text without words."""
        texts = listed(texts)
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(self._text_by_text, list(_batches(texts))))
        answers = [answer for part in parts for answer in part]
        parsed = []
        for number, (text, answer) in enumerate(zip(texts, answers, strict=True)):
            place = f"texts[{number}]"
            if isinstance(answer, str):
                parsed.append(self._piecewise(text, answer, place, number))
            else:
                parsed.append([_tree(sentence, place, number) for sentence in answer])
        return parsed

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        return [
            _tree_over(*found, f"sentences[{number}]", number)
            for number, found in enumerate(self._answers(checked_sentences(sentences)))
        ]

    def close(self) -> None:
        """Stop the server, if it is ours."""
        self._server.close()

    def _answers(self, given: Sequence[Sequence[str]]) -> list[tuple[Sequence[str], list[str], Answer]]:
        """Each sentence of given tokens, its tokens as they were sent, and what CoreNLP said."""
        sent = [" ".join(map(_sendable, words)) for words in given]
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(self._line_by_line, list(_batches(sent))))
        answers = [answer for part in parts for answer in part]
        return list(zip(given, [line.split(" ") for line in sent], answers, strict=True))

    def _sentences(self, text: str, properties: Properties) -> Answer:
        """The sentences of a text, or why CoreNLP did not give them."""
        if not text.strip():
            return []
        try:
            sentences: list[Sentence] = self._server.ask(text, properties)["sentences"]
            return sentences
        except RefusedError as error:
            return str(error)

    def _text_by_text(self, texts: list[str]) -> list[Answer]:
        """The same for each text: asked for together, one a line, and alone where that could matter."""
        answers: list[list[Sentence]] = [[] for _ in texts]
        if len(texts) > 1:
            lines = ["" if _LINE_BREAK.search(text) else text for text in texts]
            together = {**self._for_texts, "ssplit.newlineIsSentenceBreak": "always"}
            found = self._sentences("\n".join(lines), together)
            if isinstance(found, list):
                answers = by_line(found, lines) or answers
        return [
            self._sentences(text, self._for_texts) if is_doubtful(answer) else answer
            for text, answer in zip(texts, answers, strict=True)
        ]

    def _line_by_line(self, lines: list[str]) -> list[Answer]:
        """The same for each line of given tokens: asked for together, and one by one if that fails."""
        answer = self._sentences("\n".join(lines), self._for_tokens)
        if len(lines) == 1:
            return [answer]
        if isinstance(answer, list) and len(answer) == len(lines):
            return [[sentence] for sentence in answer]
        return [self._sentences(line, self._for_tokens) for line in lines]

    def _piecewise(self, text: str, problem: str, place: str, number: int) -> list[Tree]:
        """Trees of a text that CoreNLP failed on as a whole: split first, then sentence by sentence."""
        without_parser = self._for_texts["annotators"].removesuffix(",pos,parse")
        answer = self._sentences(text, {**self._for_texts, "annotators": without_parser})
        sentences = [text.split()] if isinstance(answer, str) else [_words(sentence) for sentence in answer]
        warnings.warn(
            f"{place}: {problem}; its {len(sentences)} sentences are parsed one by one", stacklevel=3
        )
        return [_tree_over(*found, place, number) for found in self._answers(sentences)]


def by_line(sentences: list[Sentence], lines: Sequence[str]) -> list[list[Sentence]]:
    """Sentences of a text made of these lines, each given to its line; ``[]`` if one is on two lines."""
    lengths = [len(line.encode("utf-16-le", "replace")) // 2 for line in lines]  # as Java counts
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

    CoreNLP looks at what follows to decide whether a full stop ends an abbreviation, a sentence or both.
    There is no doubt after a plain word, and without a full stop.
    """
    words = [token["word"] for sentence in sentences for token in sentence["tokens"]]
    if words[-1:] == ["."]:
        return not _PLAIN_WORD.fullmatch(words[-2] if len(words) > 1 else "")
    return not words or "." in words[-1]


def _tree_over(given: Sequence[str], sent: list[str], answer: Answer, place: str, number: int) -> Tree:
    """The tree over the given tokens, which were sent in a form that no tokeniser splits."""
    problem = answer if isinstance(answer, str) else "CoreNLP changed the tokens"
    if isinstance(answer, list) and [[token["word"] for token in one["tokens"]] for one in answer] == [sent]:
        return _tree(answer[0], place, number, given)
    warnings.warn(FlatTreeWarning(place, number, given, problem), stacklevel=3)
    return flat_tree(given)


def _tree(sentence: Sentence, place: str, number: int, words: Sequence[str] | None = None) -> Tree:
    """The tree of a sentence over its words. Leaves in the brackets are ambiguous, so only nodes are read."""
    words = words or _words(sentence)
    parse = sentence.get("parse", "")
    if not parse.startswith("(ROOT"):
        problem = "CoreNLP gave no tree (too long, or too high)"
        warnings.warn(FlatTreeWarning(place, number, words, problem), stacklevel=4)
        return flat_tree(words, [token.get("pos", "X") for token in sentence["tokens"]])
    nodes = Tree.from_brackets(_PRETERMINAL.sub(r"(\1 _)", parse), unary="keep", strip=False)
    return Tree(words, nodes.tags, nodes.labels, nodes.spans)


def _words(sentence: Sentence) -> list[str]:
    """CoreNLP's words; a space inside one (*1 000*) becomes a no-break space."""
    return [_SEPARATOR.sub("\u00a0", token["word"]) for token in sentence["tokens"]]


def _sendable(token: str) -> str:
    """A token as it is sent: no space that would split it, and not CoreNLP's own sign for a new line."""
    return "*NL_" if token == "*NL*" else _SPACE.sub("_", token)


def _batches(lines: list[str]) -> Iterator[list[str]]:
    """The lines in runs that go into one request each."""
    batch: list[str] = []
    characters = 0
    for line in lines:
        if batch and (len(batch) == _LINES or characters + len(line) > _CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(line)
        characters += len(line)
    if batch:
        yield batch


def _try_out(server: Server, properties: Mapping[str, str]) -> None:
    """Have a running server load the models, and say so if it has none."""
    try:
        server.ask("A .", properties)
    except RefusedError as error:
        raise OSError(f"the CoreNLP server cannot parse: {error}") from error


def _check(language: str, model: str, caseless: bool, threads: int, timeout: float) -> None:
    if language not in _STEM:
        raise ValueError(f"language = {language!r}: expected one of {', '.join(_STEM)}")
    models = ["srbeam", "sr"] + ["pcfg"] * (language != "fr")
    if model not in models:
        raise ValueError(f"model = {model!r}: expected one of {', '.join(models)} for {language!r}")
    if caseless and language != "en":
        raise ValueError(f"caseless = True: expected language 'en', got {language!r}")
    if threads < 1:
        raise ValueError(f"threads = {threads}: expected at least 1")
    check_timeout(timeout)


def _properties(language: str, model: str, caseless: bool) -> tuple[Properties, Properties]:
    """What to ask CoreNLP for: over given tokens, and over texts."""
    stem = _STEM[language]
    tagger = "english-caseless-left3words-distsim" if caseless else _TAGGER[language]
    parsers = {
        "srbeam": f"srparser/{stem}SR.beam",
        "sr": f"srparser/{stem}SR",
        "pcfg": f"lexparser/{stem}PCFG" + ".caseless" * caseless,
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
        common["parse.maxlen"] = "200"  # time and memory grow fast: one of 300 words takes over 4 GB
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
