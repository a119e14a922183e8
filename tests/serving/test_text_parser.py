"""Texts that are too long are refused before they are parsed; parsing and classifying stop at a deadline."""

from __future__ import annotations

from functools import partial

import pytest

from treeformer.data.reading import Reading
from treeformer.inference import Classification, Classifier
from treeformer.parsing.failures import Parsed
from treeformer.serving.engine import classify_readings, read_inputs
from treeformer.serving.limits import Deadline, Limits, RefusedError
from treeformer.serving.schema import ParseRequest
from treeformer.serving.text_parser import Input, inputs_of, parse_inputs, work_in_groups, work_until
from treeformer.trees import Tree


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
    inputs = [Input("a", text), Input("b", "A fine film .")]
    long, short = read_inputs(inputs, processor, Limits(), Deadline.after(60))
    assert isinstance(long, RefusedError)
    assert long.limit == limit
    assert isinstance(short, Reading)
    assert parsed == ["A fine film ."]


def test_classification_looks_at_the_time_after_some_words(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = Classifier.from_pretrained(device="cpu")
    flat = Tree.from_brackets("(S " + "(NN film) " * 400 + ")")  # many words, one node
    readings = [classifier.processor.read([flat])[0]] * 32
    classify, sizes = classifier.classify, list[int]()

    def recorded_classify(chunk: list[Reading]) -> list[Classification]:
        sizes.append(sum(len(reading.tree.words) for reading in chunk))
        return classify(chunk)

    monkeypatch.setattr(classifier, "classify", recorded_classify)
    with pytest.raises(TimeoutError):
        classify_readings(classifier, readings, Deadline.after(600, lambda: len(sizes) == 2))
    assert len(sizes) == 2
    assert max(sizes) <= 2_000


def test_a_request_with_a_refused_text_is_refused_and_others_are_answered() -> None:
    def parse(texts: list[str]) -> list[Parsed]:
        return [Parsed([], []) for _ in texts]

    requests = [ParseRequest(inputs=["A fine film .", "a " * 401]), ParseRequest(inputs=["Yes .", "No ."])]
    groups = [inputs_of(request) for request in requests]
    options = {"parse": parse, "language": "en", "limits": Limits(), "deadline": Deadline.after(60)}
    refused, answered = work_in_groups(groups, lambda inputs: parse_inputs(inputs, **options))
    assert isinstance(refused, RefusedError)
    assert refused.message.startswith("inputs[1]: expected at most")
    assert answered == [Parsed([], []), Parsed([], [])]


def test_texts_are_parsed_some_at_a_time_until_the_deadline() -> None:
    texts = ["a" * 3_000, "b" * 3_000, "c", "d" * 9_000, "e"]
    chunks: list[list[str]] = []

    def parse(chunk: list[str]) -> list[str]:
        chunks.append(chunk)
        return [text[0] for text in chunk]

    work = partial(work_until, work=parse, size=len, budget=4_000)
    assert work(Deadline.after(60), texts) == ["a", "b", "c", "d", "e"]
    assert [len(chunk) for chunk in chunks] == [1, 2, 1, 1]
    assert work(Deadline.after(60), []) == []
    for late in (Deadline.after(-1), Deadline.after(60, abandoned=lambda: True)):
        with pytest.raises(TimeoutError):
            work(late, texts)
