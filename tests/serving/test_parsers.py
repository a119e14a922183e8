"""Texts that are too long are refused before they cost anything, and parsing ends when its time is over."""

from __future__ import annotations

import pytest

from treeformer.data.reading import Reading
from treeformer.inference import Classifier
from treeformer.parsing.failures import Parsed
from treeformer.serving.engine import Item, Reader
from treeformer.serving.errors import RefusedError
from treeformer.serving.limits import Limits
from treeformer.serving.parsers import in_time, long_texts


@pytest.mark.parametrize(
    ("text", "limit"), [("(" * 8000, "words"), ("a " * 401, "words"), ("Hi . " * 41, "sentences")]
)
def test_a_text_that_is_too_long_is_refused_unparsed(
    text: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = Classifier.from_pretrained(device="cpu").processor
    whole, parsed = processor.parse, list[str]()

    def counted(texts: list[str]) -> list[Parsed]:
        parsed.extend(texts)
        return whole(texts)

    monkeypatch.setattr(processor, "parse", counted)
    long, short = Reader(processor, Limits()).read([Item("a", text), Item("b", "A fine film .")], 60)
    assert isinstance(long, RefusedError)
    assert long.limit == limit
    assert isinstance(short, Reading)
    assert parsed == ["A fine film ."]
    refused = long_texts(["A fine film .", text], "en", Limits())
    assert refused is not None
    assert refused.message.startswith("inputs[1]: expected at most")


def test_texts_are_parsed_some_at_a_time_until_the_time_is_over() -> None:
    texts = ["a" * 9_000, "b" * 9_000, "c", "d" * 20_000, "e"]
    groups: list[list[str]] = []

    def parse(some: list[str]) -> list[str]:
        groups.append(some)
        return [text[0] for text in some]

    assert "".join(in_time(texts, parse, 60)) == "abcde"
    assert [len(some) for some in groups] == [2, 2, 1]
    assert list(in_time([], parse, 60)) == []
    with pytest.raises(TimeoutError):
        list(in_time(texts, parse, -1))
