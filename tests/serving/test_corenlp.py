"""CoreNLP beside the embedded parser, where it is installed."""

from __future__ import annotations

import os

import pytest

from tests.serving.process import serving

TEXT = "The old man the boats."


@pytest.mark.java
def test_texts_can_be_parsed_by_corenlp() -> None:
    with serving(environment={"CORENLP_HOME": os.environ["CORENLP_HOME"]}) as service:
        assert service.client.get("/v1/models").json()["parsers"] == ["embedded", "de", "fr", "corenlp"]
        parsed = service.ask("parse", inputs=[TEXT], parser="corenlp").json()["answers"][0]
        assert parsed["trees"][0].startswith("(ROOT ")
        answer = service.ask("classify", inputs=[TEXT], parser="corenlp").json()["answers"][0]
        assert answer["text"] == TEXT
        assert answer["phrases"]
        assert service.stop() == 0
