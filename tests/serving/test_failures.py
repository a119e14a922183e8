"""Sentences that the parser failed on are reported in every answer about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.failing_parser import serving_with_failing_parser
from tests.serving.process import ServiceProcess

TEXTS = ["A good film.", "It is good. A bad film."]
FAILURES = [[], [{"sentence": "A bad film .", "reason": "it says bad"}]]


@pytest.fixture(scope="module")
def failing(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with serving_with_failing_parser(runs, tmp_path_factory.mktemp("runs")) as service:
        yield service


@pytest.mark.parametrize(
    ("path", "options"),
    [("parse", {}), ("classify", {}), ("translate", {}), ("translate", {"attention": True})],
)
def test_failures_are_reported(failing: ServiceProcess, path: str, options: dict[str, Any]) -> None:
    response = failing.ask(path, inputs=TEXTS, **options)
    assert response.status_code == 200, response.text
    assert [answer["failures"] for answer in response.json()["answers"]] == FAILURES


def test_the_tree_of_a_failed_sentence_is_flat(failing: ServiceProcess) -> None:
    (answer,) = failing.ask("parse", inputs=TEXTS[1:]).json()["answers"]
    assert answer["trees"][1] == "(ROOT (FRAG (X A) (X bad) (X film) (X .)))"


def test_given_trees_have_no_failures(failing: ServiceProcess) -> None:
    response = failing.ask("classify", inputs=["(S (DT A) (JJ bad) (NN film))"], trees=True)
    assert response.json()["answers"][0]["failures"] == []
