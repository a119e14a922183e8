"""The interface of all parsers: text or tokens in, trees out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from treeformer.chunking import split_by_sizes
from treeformer.parsing.failures import Parsed
from treeformer.parsing.tokenizer import tokenize
from treeformer.trees import Tree, join
from treeformer.trees.tree import checked_strings

_DAY = 86_400.0  # seconds


class Parser(ABC):
    """Text or tokens to trees.

    Trees keep unary chains and have a root labelled ``ROOT``; those of a `CommandParser` are as its program
    writes them. A parser may hold a process or a connection: use it in a ``with`` block, or call `close`.
    """

    language: str
    multiline: bool = False  #: line breaks of a text are read, as in source code
    name: str  #: backend, language and version; written into everything made from its trees

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        """Trees of the sentences of each text, ``[]`` for a text without words.

        Sentences and tokens are those of `treeformer.parsing.tokenizer`; a backend may bring its own.
        """
        tokenized = [tokenize(text, self.language) for text in checked_texts(texts)]
        trees = self.parse_tokens(sentence for sentences in tokenized for sentence in sentences)
        return split_by_sizes(trees, map(len, tokenized))

    @abstractmethod
    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""

    def try_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Trees of each text, as by `parse_texts`, with failures as data.

        A backend that replaces failed sentences by flat trees itself overrides this and `try_tokens`.
        """
        return [Parsed(trees, []) for trees in self.parse_texts(texts)]

    def try_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        """One tree for each sentence, as by `parse_tokens`, with failures as data."""
        return [Parsed([tree], []) for tree in self.parse_tokens(sentences)]

    def parse(self, texts: Iterable[str], *, document: bool = False) -> list[Tree]:
        """Trees of all sentences of the texts, in order; with ``document`` one tree for each text.

        A document has one extra root ``DOC`` over its sentences, also over a single one.
        """
        parsed = self.parse_texts(texts)
        if not document:
            return [tree for trees in parsed for tree in trees]
        for number, trees in enumerate(parsed, start=1):
            if not trees:
                raise ValueError(f"texts: expected words in every document, got none in text {number}")
        return [join(trees) for trees in parsed]

    def close(self) -> None:  # noqa: B027  # most parsers hold nothing
        """Release what the parser holds; it cannot parse afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; ``ValueError`` for a single string, which is a sequence of characters."""
    if isinstance(texts, str):
        raise ValueError("texts: expected a list of texts, got one string")
    return list(texts)


def checked_sentences(sentences: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The sentences as tuples; ``ValueError`` for one without tokens or with tokens no tree may hold."""
    checked = [checked_strings(f"sentences[{number}]", words) for number, words in enumerate(sentences)]
    if () in checked:
        raise ValueError(f"sentences[{checked.index(())}]: expected at least one token, got none")
    return checked


def check_timeout(seconds: float) -> None:
    """Raise ``ValueError`` unless ``seconds`` is positive and at most a day."""
    if not 0 < seconds <= _DAY:
        raise ValueError(f"timeout = {seconds:g}: expected more than 0 seconds and at most a day")
