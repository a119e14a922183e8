"""The language of a text is detected, and a parser of that language reads it."""

from __future__ import annotations

import pytest

from tests.serving.process import ServiceProcess
from treeformer import Tree, load_parser
from treeformer.serving.languages import language_of

SENTENCES = {
    "It works.": "en",
    "The plot is dull, but the actors save it.": "en",
    "Das ist ein schöner Film.": "de",
    "Ein guter Film": "de",
    "C'est un film magnifique.": "fr",
    "Un bon film": "fr",
    "La película es muy buena, pero demasiado larga.": "es",
    "这部电影很好看。": "zh",
    "هذا فيلم رائع": "ar",
    "映画はとても良かったです。": "ja",
    "Это отличный фильм.": "ru",
}


@pytest.mark.parametrize(("text", "language"), SENTENCES.items())
def test_the_language_of_a_sentence_is_detected(text: str, language: str) -> None:
    assert language_of(text, usual="en") == language
    assert language_of(f"{text}\n" * 200, usual="en") == language


@pytest.mark.parametrize("usual", ["de", "en"])
@pytest.mark.parametrize("text", ["\u2014", "x < y & z"])
def test_a_text_without_words_has_the_usual_language(text: str, usual: str) -> None:
    assert language_of(text, usual=usual) == usual


def test_the_service_names_the_language_of_each_text(service: ServiceProcess) -> None:
    answer = service.ask("language", inputs=list(SENTENCES))
    assert answer.json() == {"languages": list(SENTENCES.values())}
    assert service.ask("language", inputs=["a" * 8001]).status_code == 422
    assert service.ask("language", inputs=[" "]).status_code == 422


@pytest.mark.parametrize(
    ("language", "text"), [("de", "Das ist ein schöner Film."), ("fr", "Un très bon film.")]
)
def test_a_parser_of_another_language_reads_a_text(service: ServiceProcess, language: str, text: str) -> None:
    expected = str(load_parser(language).parse([text])[0])
    [parsed] = service.ask("parse", inputs=[text], parser=language).json()["answers"]
    assert parsed["trees"] == [expected]
    [answer] = service.ask("classify", inputs=[text], parser=language).json()["answers"]
    assert Tree.from_brackets(answer["tree"]).words == Tree.from_brackets(expected).words
