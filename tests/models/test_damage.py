"""A model is loaded whole and as it was saved, or refused with the name of the file and the tensor."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models.inputs import tree_config
from treeformer import (
    Classifier,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
)
from treeformer.checksums import CHECKSUMS
from treeformer.inference.shipped import SHIPPED
from treeformer.models.systems import load

Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    TreeTransformerForSequenceClassification(tree_config()).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy of a saved model without its checksums, as other programs write it."""
    copy = shutil.copytree(original, tmp_path / "model")
    (copy / CHECKSUMS).unlink()
    return copy


def change_weights(folder: Path, change: Callable[[Tensors], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


def change_config(folder: Path, **keys: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("classifier.weight"), "tensor classifier.weight is missing"),
        (lambda tensors: tensors.update(extra=torch.zeros(3)), "tensor extra is not of this model"),
        (
            lambda tensors: tensors.update({"classifier.bias": torch.zeros(77)}),
            r"tensor classifier.bias has the shape \[77\], expected",
        ),
        (
            lambda tensors: tensors["classifier.bias"].fill_(float("nan")),
            "tensor classifier.bias has numbers that are",
        ),
        (lambda tensors: tensors["classifier.weight"].fill_(float("inf")), "tensor .* infinite or NaN"),
    ],
)
def test_tensors_that_are_not_those_of_the_config_are_refused(
    folder: Path, change: Callable[[Tensors], object], message: str
) -> None:
    load(folder)
    change_weights(folder, change)
    with pytest.raises(ValueError, match=rf"{folder}.*: {message}") as raised:
        load(folder)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"d_model": 10**12}, "d_model: 1000000000000 is too large for the weights"),
        ({"encoder_layers": 10**9}, "encoder_layers: 1000000000 is too large for the weights"),
        ({"num_labels": 10**9, "id2label": None}, "num_labels: 1000000000 is too large"),
        ({"vocab_size": 2**20, "ffn_dim": 2**20, "d_model": 2**18}, r"tensor .* has the shape .* expected"),
        ({"_attn_implementation": "owner/repository"}, "_attn_implementation: expected one of eager, sdpa"),
        ({"attn_implementation": "flash_attention_2"}, "attn_implementation: expected one of eager, sdpa"),
        ({"transformers_weights": "/etc/passwd"}, "transformers_weights: not supported"),
        ({"architectures": {"a": 1}}, "expected a model of treeformer, got architectures"),
        ({"architectures": "TreeTransformer"}, "expected a model of treeformer, got architectures"),
        ({"d_model": "64"}, "d_model"),
        ({"encoder_layers": []}, "encoder_layers"),
        ({"dropout": None}, "dropout"),
        ({"id2label": 3}, "config.json"),
        ({"attention_heads": 0}, "attention_heads"),
    ],
)
def test_a_config_of_the_wrong_shape_or_size_is_refused_by_key(
    folder: Path, keys: dict[str, Any], message: str
) -> None:
    change_config(folder, **keys)
    with pytest.raises(ValueError, match=message) as raised:
        load(folder)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_key_of_a_config_may_have_any_value_without_a_traceback(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for key in config:
        values: list[object] = [None, [], "x", -1, 10**30, {"a": {"b": []}}]
        for value in values:
            path.write_text(json.dumps({**config, key: value}))
            try:
                load(folder)
            except ValueError as error:
                assert str(path) in str(error) or str(folder) in str(error), (key, value)  # noqa: PT017
                assert "\n" not in str(error), (key, value)  # noqa: PT017


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"weight_map": {"a": "../other/model.safetensors"}}, "expected names of files in the same folder"),
        ({"weight_map": {"a": "/model.safetensors"}}, "expected names of files in the same folder"),
        ({"weight_map": ["a"]}, "weight_map: expected the name of a file"),
        ({"weight_map": {"a": 3}}, "weight_map: expected the name of a file"),
        ([], "expected a JSON object, found list"),
    ],
)
def test_an_index_names_files_of_its_folder(folder: Path, index: object, message: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match=rf"index\.json: {message}"):
        load(folder)


def test_weights_in_several_files_and_those_of_translators_load(tmp_path: Path) -> None:
    model = TreeTransformerForConditionalGeneration(tree_config())
    model.save_pretrained(tmp_path / "parts", max_shard_size="10KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 1
    _, again = load(tmp_path / "parts")
    assert all(torch.equal(one, model.state_dict()[name]) for name, one in again.state_dict().items())
    model.save_pretrained(tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) == 1
    load(tmp_path / "parts")


def test_no_flipped_bit_changes_an_answer(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "model")
    generator = random.Random(1)
    for name in ("config.json", "model.safetensors", "processor.json", "tokenizer.json", CHECKSUMS):
        path = folder / name
        content = path.read_bytes()
        for _ in range(8):
            changed = bytearray(content)
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(ValueError, match="model"):
                Classifier.from_pretrained(folder, device="cpu")
        path.write_bytes(content)
    Classifier.from_pretrained(folder, device="cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"format": 2, "sha256": {}, "new": 1}, "written by a newer version of treeformer .*update"),
        ({"format": 1}, "sha256: field required"),
        ({"format": 1, "sha256": {"../x": "0"}}, "expected names of files in the same folder"),
        ({"format": 1, "sha256": {"gone": "0"}}, "gone: missing"),
        ([], "expected a JSON object"),
    ],
)
def test_checksums_of_another_shape_are_refused(
    original: Path, tmp_path: Path, content: object, message: str
) -> None:
    folder = shutil.copytree(original, tmp_path / "model")
    (folder / CHECKSUMS).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        load(folder)


def test_a_model_saved_over_another_has_new_checksums(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "model")
    _, model = load(folder)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(2)
    model.save_pretrained(folder)
    _, again = load(folder)
    assert torch.equal(again.get_input_embeddings().weight, model.get_input_embeddings().weight)
