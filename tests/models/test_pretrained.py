"""Where weights start, and that only safetensors are ever loaded."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch

from tests.models.inputs import tree_config
from treeformer import TreeTransformerForConditionalGeneration, TreeTransformerForSequenceClassification
from treeformer.checksums import CHECKSUMS


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.target,)


def saved(folder: Path) -> Path:
    """The folder of a model without checksums, as other programs write it."""
    TreeTransformerForSequenceClassification(tree_config()).save_pretrained(folder)
    (folder / CHECKSUMS).unlink()
    return folder


def test_a_pickle_named_safetensors_is_refused_and_not_run(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(ValueError, match="not a valid safetensors file"):
        TreeTransformerForSequenceClassification.from_pretrained(folder)
    assert not (tmp_path / "exploded").exists()


def test_a_folder_with_a_pickle_alone_is_refused_and_not_run(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(OSError, match=r"model\.safetensors"):
        TreeTransformerForSequenceClassification.from_pretrained(folder)
    with pytest.raises(ValueError, match="only safetensors files are loaded"):
        TreeTransformerForSequenceClassification.from_pretrained(folder, use_safetensors=False)
    assert not (tmp_path / "exploded").exists()


def test_an_index_that_names_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / "weights.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    index = {"metadata": {"total_size": 1}, "weight_map": {"classifier.weight": "weights.bin"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match=r"expected safetensors files, got weights\.bin"):
        TreeTransformerForSequenceClassification.from_pretrained(folder)
    assert not (tmp_path / "exploded").exists()


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a valid safetensors file"):
        TreeTransformerForSequenceClassification.from_pretrained(folder)


def test_a_folder_that_is_not_there_is_looked_for_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        TreeTransformerForSequenceClassification.from_pretrained(tmp_path / "missing")


def test_weights_start_as_specified() -> None:
    torch.manual_seed(0)
    model = TreeTransformerForConditionalGeneration(
        tree_config(d_model=256, ffn_dim=512, vocab_size=2000, attention_heads=4)
    )
    variances = {name: p.var().item() for name, p in model.named_parameters() if p.ndim == 2}
    assert variances["encoder.embedding.weight"] == pytest.approx(1 / 256, rel=0.02)
    attention = "decoder.layers.1.cross_attention"
    assert variances[f"{attention}.input.weight"] == pytest.approx(1 / 512, rel=0.05)
    assert variances[f"{attention}.output.weight"] == pytest.approx(1 / 256, rel=0.05)
    assert variances[f"{attention}.accumulation.horizontal"] == pytest.approx(0.02**2, rel=0.1)
    assert variances[f"{attention}.accumulation.leaf_weight.weight"] == pytest.approx(2 / 257, rel=0.3)
    assert not model.get_input_embeddings().weight[1].any()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
