"""Systems by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification
from treeformer.models.systems import (
    SYSTEMS,
    System,
    build,
    load,
    register_system,
    size_names,
    system_named,
)

SIZES = {"d_model": 16, "ffn_dim": 24, "encoder_layers": 1, "decoder_layers": 1, "attention_heads": 2}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "classification") for name, system in SYSTEMS.items() if system.classifier]
    + [(name, "translation") for name, system in SYSTEMS.items() if system.translator],
)
def test_a_system_is_built_from_sizes_and_found_again_in_its_folder(
    tmp_path: Path, name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    system = system_named(name)
    classes = ["bad", "good"] if kind == "classification" else []
    sizes = {key: size for key, size in SIZES.items() if key in size_names(system)}
    model = build(system, kind, sizes, vocab_size=40, node_vocab_size=6, classes=classes)  # type: ignore[arg-type]
    model.save_pretrained(tmp_path)
    loaded_system, loaded = load(tmp_path)
    assert loaded_system is system
    assert type(loaded) is type(model)
    assert loaded.config.d_model == 16
    if kind == "classification":
        assert loaded.config.id2label == {0: "bad", 1: "good"}
        assert loaded.config.num_labels == 2
    if hasattr(system.config_class, "node_vocab_size"):
        assert loaded.config.node_vocab_size == 6
    assert capfd.readouterr().err == ""  # no progress bars for one small file


@pytest.mark.parametrize("leaf_inputs", ["word", "context"])
def test_composed_nodes_make_the_composed_system(tmp_path: Path, leaf_inputs: str) -> None:
    composed = SYSTEMS["composed-tree-transformer"]
    sizes = {**SIZES, "leaf_inputs": leaf_inputs}
    build(
        composed, "classification", sizes, vocab_size=40, node_vocab_size=6, classes=["bad", "good"]
    ).save_pretrained(tmp_path)
    assert load(tmp_path)[0] is composed


def test_sizes_do_not_name_what_the_corpus_fixes() -> None:
    for system in SYSTEMS.values():
        names = size_names(system)
        assert {"d_model", "dropout"} <= set(names)
        assert not {"vocab_size", "node_vocab_size", "num_labels", "pad_token_id"} & set(names)
    assert "subtree_mask" in size_names(SYSTEMS["tree-transformer"])
    assert "subtree_mask" not in size_names(SYSTEMS["transformer"])


def test_errors_name_what_is_wrong() -> None:
    known = f"model: expected one of {', '.join(SYSTEMS)}, got 'tree'"
    with pytest.raises(ValueError, match=known):
        system_named("tree")
    tree = SYSTEMS["tree-transformer"]
    with pytest.raises(ValueError, match=r"sizes\.d_modle: no such key, did you mean d_model\?"):
        build(tree, "translation", {"d_modle": 3}, vocab_size=40, node_vocab_size=6)
    with pytest.raises(ValueError, match="model: bilstm has no model for translation, expected one of tree-"):
        build(SYSTEMS["bilstm"], "translation", {}, vocab_size=40, node_vocab_size=6)
    with pytest.raises(ValueError, match="classes: expected at least one name"):
        build(tree, "classification", SIZES, vocab_size=40, node_vocab_size=6)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "expected a JSON object"), ('{"architectures": ["Bert"]}', "expected a model of treeformer")],
)
def test_a_folder_of_something_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_a_registered_system_is_found_by_name_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeformer.models.systems.SYSTEMS", dict(SYSTEMS))

    class CustomConfig(BiLstmConfig):
        model_type = "custom"
        extra: int = 3

    class Custom(BiLstmForSequenceClassification):
        config_class = CustomConfig

    CustomConfig.__module__ = Custom.__module__ = "somewhere.else"
    custom = System("custom", "words", CustomConfig, Custom, None)
    register_system(custom)
    assert system_named("custom") is custom
    assert "extra" in size_names(custom)
    model = build(
        custom, "classification", {"d_model": 8, "extra": 4}, vocab_size=9, node_vocab_size=2, classes="ab"
    )
    model.save_pretrained(tmp_path)
    system, loaded = load(tmp_path)
    assert system is custom
    assert loaded.config.extra == 4


def test_a_built_in_system_is_not_replaced() -> None:
    with pytest.raises(ValueError, match="name: 'bilstm' is a system that comes with treeformer"):
        register_system(SYSTEMS["bilstm"])
