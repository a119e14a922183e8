"""Parsers by name: registered ones."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

import pytest

from treeformer import Tree, load_parser
from treeformer.parsing import Parser, register_parser
from treeformer.parsing.loading import parser_maker
from treeformer.trees import balanced


class Balanced(Parser):
    """Trees without a grammar."""

    name = "balanced 1"

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        return [balanced(words) for words in sentences]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeformer.parsing.loading._REGISTERED", {})
    register_parser("even", Balanced)


def test_a_registered_parser_is_loaded_by_its_name_with_its_options() -> None:
    with load_parser("even", language="de") as parser:
        assert isinstance(parser, Balanced)
        assert parser.language == "de"
        assert str(parser.parse(["Es regnet."])[0]) == str(balanced(["Es", "regnet", "."]))


def test_a_maker_can_be_sent_to_another_process() -> None:
    make = pickle.loads(pickle.dumps(parser_maker("even")))
    assert isinstance(make(), Balanced)


@pytest.mark.parametrize("name", ["en", "corenlp", "corenlp:en", "embedded"])
def test_a_parser_of_the_package_is_not_replaced(name: str) -> None:
    with pytest.raises(ValueError, match="is a parser that comes with treeformer"):
        register_parser(name, Balanced)
