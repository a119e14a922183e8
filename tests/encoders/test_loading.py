"""Encoders are loaded as they were stored: offline, without code of theirs, and checked."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartModel, BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertModel

from tests.encoders import tiny
from tests.encoders.conftest import bert
from treeformer.encoders import encoder_name, encoder_sha256, install, load_encoder
from treeformer.encoders.catalogue import TOKENIZER, TOKENIZER_CONFIG, WEIGHTS, KnownEncoder
from treeformer.encoders.installation import MANIFEST
from treeformer.encoders.wordpiece import tokenizer_json

SIZES = {"vocab_size": len(tiny.PIECES), "max_position_embeddings": 64}


@pytest.fixture
def folder(known: KnownEncoder, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the installed tiny encoder."""
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path / "encoders"))
    return install("tiny", source=sources / "hub")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """Its model in a folder of the user's own, which has no manifest."""
    copied = tmp_path / "copy"
    copied.mkdir()
    for name in ("config.json", WEIGHTS, TOKENIZER, TOKENIZER_CONFIG):
        shutil.copy(folder / name, copied)
    return copied


class TestInstalled:
    def test_states_are_those_of_the_model(self, folder: Path) -> None:
        encoder = load_encoder("tiny")
        inputs = encoder.tokenizer(["The film!", "é (日本) " * 20], return_tensors="pt", padding=True)
        with torch.no_grad():
            states = encoder.model(**inputs).last_hidden_state
            expected = bert()(**inputs).last_hidden_state
        mask = inputs["attention_mask"].bool()
        torch.testing.assert_close(states[mask], expected[mask], rtol=0, atol=1e-5)

    def test_it_has_a_name_and_a_checksum(self, folder: Path) -> None:
        encoder = load_encoder("tiny")
        assert (encoder.name, encoder.folder) == ("tiny", folder)
        assert encoder.sha256 == encoder_sha256("tiny") == encoder_sha256(folder)
        assert encoder_name(folder) == load_encoder(folder).name == "tiny"

    def test_the_checksum_is_that_of_sha256sum(self, folder: Path) -> None:
        script = "sha256sum config.json model.safetensors tokenizer.json tokenizer_config.json | sha256sum"
        printed = subprocess.run(script, shell=True, cwd=folder, capture_output=True, text=True, check=True)
        assert encoder_sha256("tiny") == printed.stdout.split()[0]

    def test_weights_are_those_of_the_file_in_float32(self, folder: Path) -> None:
        model = load_encoder("tiny").model
        assert not model.training
        assert set(model.state_dict()) == set(tiny.weights())
        for name, value in tiny.weights().items():
            assert model.state_dict()[name].dtype == torch.float32
            np.testing.assert_array_equal(model.state_dict()[name].numpy(), value, err_msg=name)

    def test_the_tokenizer_knows_the_characters_of_pieces(self, folder: Path) -> None:
        tokenizer = load_encoder("tiny").tokenizer
        encoded = tokenizer("The film", return_offsets_mapping=True)
        assert encoded["offset_mapping"] == [(0, 0), (0, 3), (4, 8), (0, 0)]
        assert tokenizer.model_max_length == 512

    @pytest.mark.parametrize("name", ["config.json", WEIGHTS, TOKENIZER, TOKENIZER_CONFIG])
    def test_a_file_that_has_changed_is_refused(self, folder: Path, name: str) -> None:
        content = bytearray((folder / name).read_bytes())
        content[-2] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}: damaged .* run `treeformer encoder install tiny`"):
            load_encoder("tiny")

    def test_a_file_that_is_missing_is_refused(self, folder: Path) -> None:
        (folder / TOKENIZER).unlink()
        with pytest.raises(
            ValueError, match=rf"{TOKENIZER}: missing.* run `treeformer encoder install tiny`"
        ):
            encoder_sha256("tiny")

    def test_a_manifest_without_a_name(self, folder: Path) -> None:
        (folder / MANIFEST).write_text("{}")
        assert load_encoder(folder).name == str(folder)
        (folder / MANIFEST).write_text("[]")
        with pytest.raises(ValueError, match=rf"{MANIFEST}: expected a JSON object"):
            load_encoder(folder)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"name": ["tiny"]}', "name: expected the name of an encoder"),
            ('{"name": "other", "sha256": ["a"]}', "sha256: expected a checksum for each file"),
            ('{"name": "other", "sha256": {"config.json": 1}}', "sha256: expected a checksum for each file"),
        ],
    )
    def test_a_manifest_of_the_wrong_shape(self, content: str, message: str, folder: Path) -> None:
        (folder / MANIFEST).write_text(content)
        with pytest.raises(ValueError, match=rf"{MANIFEST}: {message}"):
            load_encoder(folder)

    def test_another_encoder_than_the_expected_one_is_refused(self, folder: Path) -> None:
        assert load_encoder("tiny", sha256=encoder_sha256("tiny")).name == "tiny"
        with pytest.raises(ValueError, match=r"expected the encoder with SHA-256 123, found \w{64}"):
            load_encoder("tiny", sha256="123")

    def test_one_that_is_not_installed_names_the_command(self, folder: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"run `treeformer encoder install minilm`"):
            load_encoder("minilm")


class TestFolders:
    def test_a_copy_is_the_same_encoder_under_another_name(self, copy: Path) -> None:
        encoder = load_encoder(copy)
        assert (encoder.name, encoder.sha256) == (str(copy), encoder_sha256("tiny"))

    @pytest.mark.parametrize("name", ["config.json", TOKENIZER, TOKENIZER_CONFIG])
    def test_what_an_encoder_computes_decides_its_checksum(self, copy: Path, name: str) -> None:
        before = encoder_sha256(copy)
        (copy / "README.md").write_text("Hello")
        assert encoder_sha256(copy) == before
        (copy / name).write_bytes((copy / name).read_bytes() + b"\n")
        assert encoder_sha256(copy) != before

    def test_other_kinds_of_encoders(self, copy: Path) -> None:
        sizes = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
        DistilBertModel(DistilBertConfig(**SIZES, **sizes)).save_pretrained(copy)
        encoder = load_encoder(copy)
        assert isinstance(encoder.model, DistilBertModel)
        assert encoder.model(**encoder.tokenizer("The", return_tensors="pt")).last_hidden_state.shape == (
            1,
            3,
            16,
        )

    def test_a_model_with_a_head_gives_its_encoder(self, copy: Path) -> None:
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
        model = BertForMaskedLM(BertConfig(**SIZES, **sizes))
        model.save_pretrained(copy)
        loaded = load_encoder(copy).model.state_dict()
        for name, value in model.bert.state_dict().items():
            torch.testing.assert_close(loaded[name], value, rtol=0, atol=0)

    def test_weights_that_are_missing_are_no_random_ones(self, copy: Path) -> None:
        config = json.loads((copy / "config.json").read_bytes())
        (copy / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
        with pytest.raises(ValueError, match=r"missing or of another size: 16, the first is encoder.layer.2"):
            load_encoder(copy)

    def test_weights_of_other_sizes(self, copy: Path) -> None:
        config = json.loads((copy / "config.json").read_bytes())
        (copy / "config.json").write_text(json.dumps({**config, "intermediate_size": 8}))
        with pytest.raises(ValueError, match=r"another size: 6, the first is encoder.layer.0.intermediate"):
            load_encoder(copy)

    def test_a_model_that_also_writes_is_no_encoder(self, copy: Path) -> None:
        sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
        BartModel(BartConfig(**SIZES, **sizes, encoder_ffn_dim=8, decoder_ffn_dim=8)).save_pretrained(copy)
        with pytest.raises(ValueError, match=r"model_type 'bart', expected an encoder such as bert"):
            load_encoder(copy)

    def test_a_folder_without_a_model(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"expected a folder with config.json, or one of minilm"):
            load_encoder(tmp_path)

    def test_a_folder_without_a_tokenizer(self, copy: Path) -> None:
        (copy / TOKENIZER).unlink()
        (copy / TOKENIZER_CONFIG).unlink()
        with pytest.raises(ValueError, match=r"copy: no tokenizer there, expected tokenizer.json"):
            load_encoder(copy)

    def test_a_tokenizer_of_another_model(self, copy: Path) -> None:
        (copy / TOKENIZER).write_bytes(tokenizer_json([*tiny.PIECES, "more"], lower_case=True))
        size = len(tiny.PIECES)
        with pytest.raises(ValueError, match=rf"has {size + 1} pieces, but the model only {size}"):
            load_encoder(copy)

    @pytest.mark.parametrize("content", [b"{]", b"{}", b"[]", b""])
    @pytest.mark.parametrize("name", ["config.json", WEIGHTS, TOKENIZER])
    def test_files_that_are_damaged(self, copy: Path, name: str, content: bytes) -> None:
        (copy / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"copy") as caught:
            load_encoder(copy)
        assert "\n" not in str(caught.value)


class TestSafety:
    def test_pickles_are_not_read(self, copy: Path) -> None:
        (copy / WEIGHTS).unlink()
        (copy / "pytorch_model.bin").write_bytes(pickle.dumps({}))
        with pytest.raises(ValueError, match="no weights there, expected a safetensors file"):
            load_encoder(copy)

    def test_an_index_that_names_pickles_is_refused(self, copy: Path) -> None:
        index = {"weight_map": {"embeddings.LayerNorm.bias": "part.bin"}}
        (copy / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(ValueError, match=r"expected safetensors files, got part.bin"):
            load_encoder(copy)

    @pytest.mark.parametrize("file", ["config.json", TOKENIZER_CONFIG])
    @pytest.mark.parametrize("model_type", ["bert", "strange"])
    def test_code_in_the_folder_does_not_run(self, copy: Path, file: str, model_type: str) -> None:
        (copy / "code.py").write_text(f"open({str(copy / 'ran')!r}, 'w')")
        config = json.loads((copy / "config.json").read_bytes())
        (copy / "config.json").write_text(json.dumps({**config, "model_type": model_type}))
        names = ("AutoConfig", "AutoModel", "AutoTokenizer")
        content = json.loads((copy / file).read_bytes())
        content["auto_map"] = {name: "code.Strange" for name in names}
        (copy / file).write_text(json.dumps(content))
        if model_type == "bert":
            load_encoder(copy)
        else:
            with pytest.raises(ValueError, match=r"copy") as caught:
                load_encoder(copy)
            assert "\n" not in str(caught.value)
        assert not (copy / "ran").exists()

    def test_nothing_is_downloaded(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("the network is used")

        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        assert load_encoder(folder).name == "tiny"
