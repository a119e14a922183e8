"""An embedded parser is loaded whole and as it was written, or refused with the name of the file."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from treeformer import load_parser
from treeformer.checksums import CHECKSUMS
from treeformer.parsing.loading import MODELS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(MODELS / "fr", tmp_path / "parser")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("tag.bias"), "tensor tag.bias is missing"),
        (lambda tensors: tensors.pop("tag.weight/scale"), "tensor tag.weight/scale is missing"),
        (lambda tensors: tensors.update(more=torch.zeros(2)), "tensor more is not of this model"),
        (
            lambda tensors: tensors.update({"tag.bias": torch.zeros(2)}),
            r"tensor tag.bias has the shape \[2\]",
        ),
        (lambda tensors: tensors["tag.bias"].fill_(float("nan")), "tensor tag.bias has numbers that are inf"),
    ],
)
def test_tensors_that_are_not_those_of_the_network_are_refused(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], object], message: str
) -> None:
    tensors = load_file(folder / "parser.safetensors")
    change(tensors)
    save_file(tensors, folder / "parser.safetensors")
    with pytest.raises(ValueError, match=r"parser\.safetensors: damaged or changed"):
        load_parser(folder)
    (folder / CHECKSUMS).unlink()
    with pytest.raises(ValueError, match=rf"parser\.safetensors: {message}"):
        load_parser(folder)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sizes": {"layers": 10**9}}, "layers: 1000000000 is too large for the weights"),
        ({"sizes": {"width": 10**9}}, "width: 1000000000 is too large for the weights"),
        ({"sizes": {"width": 2**19, "inner": 2**20}}, "tensor .* has the shape"),
        ({"sizes": {"heads": 0}}, "sizes"),
        ({"sizes": []}, "sizes: input should be"),
        ({"labels": ["S"]}, "labels: expected 55 as in sizes.labels, found 1"),
        ({"words": "all"}, "words: input should be a valid list"),
        ({"name": 3}, "name: input should be a valid string"),
    ],
)
def test_a_description_of_the_wrong_shape_or_size_is_refused_by_key(
    folder: Path, keys: dict[str, object], message: str
) -> None:
    (folder / CHECKSUMS).unlink()
    path = folder / "parser.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    for key, value in keys.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as raised:
        load_parser(folder)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_flipped_bit_changes_a_tree(folder: Path) -> None:
    generator = random.Random(1)
    for name in ("parser.json", "parser.safetensors", CHECKSUMS):
        path = folder / name
        content = path.read_bytes()
        for _ in range(8):
            changed = bytearray(content)
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(ValueError, match="parser"):
                load_parser(folder)
        path.write_bytes(content)
    load_parser(folder)
