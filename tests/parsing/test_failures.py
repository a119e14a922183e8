"""A sentence that a parser fails on has a flat tree; what is not the sentence's fault ends the run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.parsing import Parser
from treeformer.parsing.failures import Failure, parse_each_sentence, parse_each_text
from treeformer.parsing.parser import FlatTreeWarning, flat_tree
from treeformer.trees import Tree, right_branching


class FussyParser(Parser):
    """Right-branching trees, and an error for each batch with the word that it cannot stand."""

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


@given(st.lists(words, max_size=9))
def test_only_the_sentence_at_fault_is_flat(sentences: list[list[str]]) -> None:
    parsed = parse_each_sentence(FussyParser("bad", ValueError("no bad words")), sentences)
    assert len(parsed) == len(sentences)
    for sentence, line in zip(sentences, parsed, strict=True):
        if "bad" in sentence:
            assert line.trees == [flat_tree(sentence)]
            assert line.failures == [Failure(" ".join(sentence), "no bad words")]
        else:
            assert line == ([right_branching(sentence)], [])


def test_the_other_sentences_of_its_text_are_parsed() -> None:
    parser = FussyParser("bad", RecursionError())
    good, mixed, none = parse_each_text(parser, ["All is good.", "All is good. That is bad. Go!", ""])
    assert good.failures == []
    assert [tree.words for tree in mixed.trees] == [
        ("All", "is", "good", "."),
        ("That", "is", "bad", "."),
        ("Go", "!"),
    ]
    assert mixed.failures == [Failure("That is bad .", "RecursionError")]
    assert none == ([], [])


@pytest.mark.parametrize(
    "error", [FileNotFoundError("java"), MemoryError(), KeyboardInterrupt(), TypeError()]
)
def test_what_is_not_about_a_sentence_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        parse_each_text(FussyParser("bad", error), ["Fine.", "That is bad."])


def test_a_parser_that_parses_nothing_is_broken() -> None:
    with pytest.raises(ValueError, match="out of order"):
        parse_each_text(FussyParser(".", ValueError("out of order")), ["Fine.", "Good."])


class CautiousParser(FussyParser):
    """Warns where it fails, instead of raising."""

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        trees = []
        for number, sentence in enumerate(sentences):
            if self.bad in sentence:
                warnings.warn(FlatTreeWarning("somewhere", number, sentence, "bad"), stacklevel=1)
            trees.append(flat_tree(sentence))
        warnings.warn("something else", stacklevel=1)
        return trees


def test_failures_that_a_parser_warns_of_are_told_too() -> None:
    with pytest.warns(UserWarning, match="something else") as others:
        parsed = parse_each_sentence(CautiousParser("bad", ValueError()), [["good"], ["so", "bad"]])
    assert [line.failures for line in parsed] == [[], [Failure("so bad", "bad")]]
    assert len(others) == 1
