"""A sentence that a parser fails on has a flat tree; other errors end the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.parsing import Parser
from treeformer.parsing.failures import Failure, Parsed, failed, flat_tree
from treeformer.parsing.line_parser import LineParser
from treeformer.trees import Tree, right_branching


class FussyParser(Parser):
    """Right-branching trees, and an error for each batch with one bad word."""

    name = "fussy"
    language = "en"

    def __init__(self, bad: str, error: BaseException) -> None:
        self.bad, self.error = bad, error

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        sentences = list(sentences)
        if any(self.bad in sentence for sentence in sentences):
            raise self.error
        return [right_branching(sentence) for sentence in sentences]


words = st.lists(st.sampled_from(["good", "bad", "fine"]), min_size=1, max_size=3)


def parse_texts(parser: Parser, texts: list[str]) -> list[Parsed]:
    return LineParser(lambda: parser).parse(texts)


def parse_sentences(parser: Parser, sentences: list[list[str]]) -> list[Parsed]:
    line_parser = LineParser(lambda: parser, tokenized=True, one_per_line=True)
    return line_parser.parse([" ".join(sentence) for sentence in sentences])


@given(st.lists(words, max_size=9))
def test_only_the_sentence_at_fault_is_flat(sentences: list[list[str]]) -> None:
    parsed = parse_sentences(FussyParser("bad", ValueError("no bad words")), sentences)
    assert len(parsed) == len(sentences)
    for sentence, line in zip(sentences, parsed, strict=True):
        if "bad" in sentence:
            assert line.trees == [flat_tree(sentence)]
            assert line.failures == [Failure(" ".join(sentence), "no bad words")]
        else:
            assert line == ([right_branching(sentence)], [])


def test_the_other_sentences_of_its_text_are_parsed() -> None:
    parser = FussyParser("bad", RecursionError())
    good, mixed, empty = parse_texts(parser, ["All is good.", "All is good. That is bad. Go!", ""])
    assert good.failures == []
    assert [tree.words for tree in mixed.trees] == [
        ("All", "is", "good", "."),
        ("That", "is", "bad", "."),
        ("Go", "!"),
    ]
    assert mixed.failures == [Failure("That is bad .", "RecursionError")]
    assert empty == ([], [])


@pytest.mark.parametrize(
    "error", [FileNotFoundError("java"), MemoryError(), KeyboardInterrupt(), TypeError()]
)
def test_other_errors_are_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        parse_texts(FussyParser("bad", error), ["Fine.", "That is bad."])


def test_a_parser_that_parses_nothing_is_broken() -> None:
    with pytest.raises(ValueError, match="out of order"):
        parse_texts(FussyParser(".", ValueError("out of order")), ["Fine.", "Good."])


class CautiousParser(FussyParser):
    """Returns its failures, instead of raising them."""

    def try_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        return [
            failed(sentence, "bad") if self.bad in sentence else Parsed([right_branching(sentence)], [])
            for sentence in sentences
        ]


def test_failures_that_a_parser_returns_are_kept() -> None:
    parsed = parse_sentences(CautiousParser("bad", ValueError()), [["good"], ["so", "bad"]])
    assert [line.failures for line in parsed] == [[], [Failure("so bad", "bad")]]
    assert parsed[1].trees == [flat_tree(["so", "bad"])]
