"""What every parser does: text or tokens in, trees out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from treeformer.parsing.tokenizer import tokenize
from treeformer.trees import Tree, join
from treeformer.trees.tree import checked_strings

_DAY = 86_400.0  # seconds


class FlatTreeWarning(UserWarning):
    """A sentence was given a flat tree, because the parser failed on it.

    Args:
        place: the text or sentence, as in ``sentences[3]``.
        number: its place in what the parser was asked for, from 0.
        words: of the sentence.
        reason: what went wrong.
    """

    def __init__(self, place: str, number: int, words: Sequence[str], reason: str) -> None:
        super().__init__(f"{place}: {reason}; its tree is flat")
        self.number = number
        self.words = tuple(words)
        self.reason = reason


class Parser(ABC):
    """Text or tokens to trees. Trees keep unary chains and have a root labelled ``ROOT``, but for
    those of a `CommandParser`, which stay as its program writes them.

    A parser may hold a process or a connection: use it in a ``with`` block, or call `close`.
    """

    language: str
    name: str  #: backend, language and version; written into everything made from its trees

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        """For each text the trees of its sentences, ``[]`` for a text without words.

        Sentences and tokens are those of `treeformer.parsing.tokenizer`, where a parser has none of its own.
        """
        tokenized = [tokenize(text, self.language) for text in listed(texts)]
        trees = iter(self.parse_tokens(sentence for sentences in tokenized for sentence in sentences))
        return [[next(trees) for _ in sentences] for sentences in tokenized]

    @abstractmethod
    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""

    def parse(self, texts: Iterable[str], *, document: bool = False) -> list[Tree]:
        """The trees of all sentences of the texts, in order; with ``document`` one tree for each text.

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
        """Let go of what the parser holds; it cannot parse afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def listed(texts: Iterable[str]) -> list[str]:
    """The texts; a string alone would be taken for as many texts as it has characters."""
    if isinstance(texts, str):
        raise ValueError("texts: expected a list of texts, got one string")
    return list(texts)


def checked_sentences(sentences: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The sentences of given tokens, each with one at least, and all of them such as a tree may have."""
    checked = [checked_strings(f"sentences[{number}]", words) for number, words in enumerate(sentences)]
    if () in checked:
        raise ValueError(f"sentences[{checked.index(())}]: expected at least one token, got none")
    return checked


def check_timeout(seconds: float) -> None:
    """Refuse what no program or server can be given as a time."""
    if not 0 < seconds <= _DAY:
        raise ValueError(f"timeout = {seconds:g}: expected more than 0 seconds and at most a day")


def flat_tree(words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
    """All words in one constituent, for a sentence that could not be parsed.

    >>> print(flat_tree(["so", "it", "is"]))
    (ROOT (FRAG (X so) (X it) (X is)))
    """
    whole = (0, len(words))
    return Tree(words, tags or ["X"] * len(words), ["FRAG", "ROOT"], [whole, whole])
