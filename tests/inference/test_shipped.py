"""The sentiment models of the package: which one answers, and what it says about the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import treeformer
from treeformer.configuration import read_json
from treeformer.data.processor import ProcessorSettings
from treeformer.encoders.catalogue import ENCODERS
from treeformer.encoders.conversion import expected_checksums
from treeformer.inference.classifier import Classifier
from treeformer.inference.shipped import SHIPPED, SHIPPED_OVER_ENCODER, advice, default_model


def test_without_its_encoder_the_small_model_answers_and_says_how_to_get_the_better_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path))
    assert default_model() == SHIPPED
    (answer,) = Classifier.from_pretrained(device="cpu")(["A good film."])
    assert answer.model == SHIPPED.name
    result = treeformer("classify", "--device", "cpu", "A good film.")
    assert "treeformer encoder install bge-small" in result.stderr
    assert result.stderr.count("\n") == 1
    assert f"model {SHIPPED.name})" in result.stdout
    named = treeformer("classify", "--device", "cpu", "--model", str(SHIPPED), "A good film.")
    assert (named.returncode, named.stderr) == (0, "")


def test_with_its_encoder_the_better_model_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path))
    (tmp_path / "bge-small").mkdir()
    (tmp_path / "bge-small" / "encoder.json").write_text("{}")
    assert default_model() == SHIPPED_OVER_ENCODER
    assert advice() is None
    (tmp_path / "bge-small" / "encoder.json").write_text('{"name": "bge-small"}')
    (tmp_path / "bge-small" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="to repair it, run `treeformer encoder install bge-small`"):
        Classifier.from_pretrained(device="cpu")


def test_the_better_model_is_small_and_names_the_encoder_of_the_catalogue() -> None:
    assert sum(file.stat().st_size for file in SHIPPED_OVER_ENCODER.iterdir()) <= 4_000_000
    settings = ProcessorSettings.load_json(SHIPPED_OVER_ENCODER / "processor.json")
    assert settings.encoder is not None
    assert (settings.encoder.source, settings.encoder.inside) == ("bge-small", False)
    config = read_json(SHIPPED_OVER_ENCODER / "config.json")["pretrained"]
    assert (config["name"], config["sha256"]) == ("bge-small", settings.encoder.sha256)
    assert set(expected_checksums(ENCODERS["bge-small"])) >= {"model.safetensors", "tokenizer.json"}
