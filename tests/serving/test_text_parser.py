"""Texts that are too long are refused before they are parsed, and parsing stops at its deadline."""

from __future__ import annotations

import time

import pytest

from treeformer.data.reading import Reading
from treeformer.inference import Classifier
from treeformer.parsing.failures import Parsed
from treeformer.serving.engine import read_inputs
from treeformer.serving.limits import Limits, RefusedError
from treeformer.serving.schema import ParseRequest
from treeformer.serving.text_parser import Input, inputs_of, parse_inputs, parse_until, work_in_groups


@pytest.mark.parametrize(
    ("text", "limit"), [("(" * 8000, "words"), ("a " * 401, "words"), ("Hi . " * 41, "sentences")]
)
def test_a_text_that_is_too_long_is_refused_unparsed(
    text: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = Classifier.from_pretrained(device="cpu").processor
    parse, parsed = processor.parse, list[str]()

    def recorded_parse(texts: list[str]) -> list[Parsed]:
        parsed.extend(texts)
        return parse(texts)

    monkeypatch.setattr(processor, "parse", recorded_parse)
    inputs, deadline = [Input("a", text), Input("b", "A fine film .")], time.monotonic() + 60
    long, short = read_inputs(inputs, processor, Limits(), deadline)
    assert isinstance(long, RefusedError)
    assert long.limit == limit
    assert isinstance(short, Reading)
    assert parsed == ["A fine film ."]


def test_a_request_with_a_refused_text_is_refused_and_others_are_answered() -> None:
    def parse(texts: list[str]) -> list[Parsed]:
        return [Parsed([], []) for _ in texts]

    requests = [ParseRequest(inputs=["A fine film .", "a " * 401]), ParseRequest(inputs=["Yes .", "No ."])]
    groups = [inputs_of(request) for request in requests]
    options = {"parse": parse, "language": "en", "limits": Limits(), "deadline": time.monotonic() + 60}
    refused, answered = work_in_groups(groups, lambda inputs: parse_inputs(inputs, **options))
    assert isinstance(refused, RefusedError)
    assert refused.message.startswith("inputs[1]: expected at most")
    assert answered == [Parsed([], []), Parsed([], [])]


def test_texts_are_parsed_some_at_a_time_until_the_deadline() -> None:
    texts = ["a" * 9_000, "b" * 9_000, "c", "d" * 20_000, "e"]
    chunks: list[list[str]] = []

    def parse(chunk: list[str]) -> list[str]:
        chunks.append(chunk)
        return [text[0] for text in chunk]

    now = time.monotonic()
    assert parse_until(now + 60, texts, parse) == ["a", "b", "c", "d", "e"]
    assert [len(chunk) for chunk in chunks] == [1, 2, 1, 1]
    assert parse_until(now + 60, [], parse) == []
    with pytest.raises(TimeoutError):
        parse_until(now - 1, texts, parse)
