"""Classifiers that read words through a pretrained encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.closeness import difference
from tests.encoders.tiny import folder_of_files
from tests.models.inputs import examples, inputs_of, one
from treeformer import Tree
from treeformer.encoders import load_encoder
from treeformer.encoders.states import word_states
from treeformer.models.pretrained import PreTrained
from treeformer.models.pretrained_words import PretrainedSettings, PretrainedWords, pretrained_part
from treeformer.models.systems import SYSTEMS, build, load, size_names

LAYERS = (0, 1, 2)
SIZES = {"d_model": 16, "ffn_dim": 24, "encoder_layers": 1, "attention_heads": 2, "dropout": 0.0}
CLASSIFIERS = [name for name, system in SYSTEMS.items() if system.classifier]
TREE_SYSTEMS = [name for name in CLASSIFIERS if SYSTEMS[name].reads == "trees"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_files(tmp_path_factory.mktemp("encoder"))


def settings(folder: Path, train: str = "frozen", layers: tuple[int, ...] = LAYERS) -> PretrainedSettings:
    return PretrainedSettings.of(load_encoder(folder), train=train, layers=layers)  # type: ignore[arg-type]


def classifier(
    name: str, folder: Path, train: str = "frozen", layers: tuple[int, ...] = LAYERS, **sizes: Any
) -> PreTrained:
    """A small classifier over the encoder, which is attached."""
    torch.manual_seed(0)
    system = SYSTEMS[name]
    sizes = {**{key: size for key, size in SIZES.items() if key in size_names(system)}, **sizes}
    model = build(
        system,
        "classification",
        sizes,
        vocab_size=8,
        node_vocab_size=6,
        classes="abc",
        pretrained=settings(folder, train, layers),
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    words_of(model).attach(load_encoder(folder))
    return model.eval()


def words_of(model: PreTrained) -> PretrainedWords:
    part = pretrained_part(model)
    assert part is not None
    return part


def batch_of(trees: list[Tree], reads: str = "trees") -> dict[str, Tensor]:
    """Inputs of these trees: every word is two pieces in one window, or one if its number is odd."""
    inputs = inputs_of(trees)
    mask = inputs["attention_mask"].bool()
    inputs["input_ids"] = torch.where(mask, 3, 1)
    B, n = mask.shape
    p = 2 * n + 2
    pieces = {name: torch.zeros(B, 1, p, dtype=torch.long) for name in ("piece_ids", "piece_mask")}
    pieces["piece_words"] = torch.full((B, 1, p), -1)
    for row, tree in enumerate(trees):
        chance = torch.Generator().manual_seed(row)
        words = [word for word in range(len(tree.words)) for _ in range(2 - word % 2)]
        ids = torch.randint(13, 60, (len(words),), generator=chance).tolist()
        pieces["piece_ids"][row, 0, : len(words) + 2] = torch.tensor([2, *ids, 3])
        pieces["piece_mask"][row, 0, : len(words) + 2] = 1
        pieces["piece_words"][row, 0, 1 : len(words) + 1] = torch.tensor(words)
    kept = inputs if reads == "trees" else {name: inputs[name] for name in ("input_ids", "attention_mask")}
    return {**kept, **pieces}


def with_states(
    inputs: dict[str, Tensor], folder: Path, layers: tuple[int, ...] = LAYERS
) -> dict[str, Tensor]:
    """The inputs with the states of words in the place of pieces."""
    pieces = [inputs[name] for name in ("piece_ids", "piece_mask", "piece_words")]
    with torch.no_grad():
        states = word_states(load_encoder(folder).model, *pieces, inputs["input_ids"].shape[1], layers)
    kept = {name: tensor for name, tensor in inputs.items() if not name.startswith("piece")}
    return {**kept, "leaf_states": states}


def test_a_vector_is_a_softmax_mean_of_layers_through_a_linear_map(folder: Path) -> None:
    part = PretrainedWords(settings(folder), 5)
    torch.nn.init.normal_(part.mix)
    states = torch.randn(2, 3, 3, 16)
    vectors = part(3, leaf_states=states.half())
    weights = part.mix.exp() / part.mix.exp().sum()
    for row in range(2):
        for word in range(3):
            mean = sum(weights[layer] * states[row, word, layer].half().float() for layer in range(3))
            expected = part.linear.weight @ mean + part.linear.bias
            torch.testing.assert_close(vectors[row, word], expected)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_pieces_and_states_give_the_same_answers(name: str, folder: Path) -> None:
    model = classifier(name, folder)
    inputs = batch_of(examples(), SYSTEMS[name].reads)
    output, expected = model(**inputs), model(**with_states(inputs, folder))
    assert difference(output.logits, expected.logits) < 1e-5
    assert output.logits.std(0).min() > 1e-3  # the words matter


@pytest.mark.parametrize("name", TREE_SYSTEMS)
def test_an_examples_logits_do_not_depend_on_its_batch(name: str, folder: Path) -> None:
    model, trees = classifier(name, folder), examples()
    inputs = with_states(batch_of(trees), folder)
    together = model(**inputs)
    for index, tree in enumerate(trees):
        states = inputs["leaf_states"][[index], : len(tree.words)]
        alone = model(
            **{**one({k: v for k, v in inputs.items() if k != "leaf_states"}, index), "leaf_states": states}
        )
        assert difference(together.logits[[index]], alone.logits) < 1e-5
        assert difference(together.leaf_logits[[index], : len(tree.words)], alone.leaf_logits) < 1e-5
        assert difference(together.node_logits[[index], : len(tree)], alone.node_logits) < 1e-5


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_frozen_encoder_is_not_part_of_the_model(name: str, folder: Path, tmp_path: Path) -> None:
    model = classifier(name, folder).train()
    inputs = batch_of(examples(), SYSTEMS[name].reads)
    assert not any("network" in key for key in model.state_dict())
    model(**inputs, labels=torch.tensor([0, 1, 2, 0])).loss.backward()
    network = words_of(model)._frozen[0]
    assert not network.training
    assert all(parameter.grad is None for parameter in network.parameters())
    assert all(parameter.grad is not None for parameter in model.parameters())
    model.eval().save_pretrained(tmp_path)
    _, loaded = load(tmp_path)
    assert difference(loaded(**inputs).logits, model(**inputs).logits) < 1e-5


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_trained_encoder_is_part_of_the_model(name: str, folder: Path, tmp_path: Path) -> None:
    model = classifier(name, folder, "all", (1, 2)).train()
    inputs = batch_of(examples(), SYSTEMS[name].reads)
    model(**inputs, labels=torch.tensor([0, 1, 2, 0])).loss.backward()
    network = words_of(model).network
    assert network.encoder.layer[0].attention.self.query.weight.grad.abs().sum() > 0
    model.eval().save_pretrained(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace(str(folder), "/not/there"))
    (tmp_path / "checksums.json").unlink()
    _, loaded = load(tmp_path)
    assert difference(loaded(**inputs).logits, model(**inputs).logits) < 1e-5


def test_an_attached_encoder_has_its_weights_and_no_layer_above_the_highest(folder: Path) -> None:
    model = classifier("linear", folder, "all", (1,))
    network, encoder = words_of(model).network, load_encoder(folder).model
    assert len(network.encoder.layer) == 1
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, encoder.state_dict()[name]), name


def test_a_frozen_encoder_moves_with_the_model(folder: Path) -> None:
    model = classifier("linear", folder)
    inputs = batch_of(examples())
    exact = model(**inputs).logits
    half = torch.nn.Module.to(model, torch.bfloat16)
    assert words_of(model)._frozen[0].dtype == torch.bfloat16
    torch.testing.assert_close(half(**inputs).logits.float(), exact, rtol=0.05, atol=0.1)


@pytest.mark.parametrize("hidden", [False, True])
def test_the_linear_system_reads_the_mean_of_the_words_of_a_phrase(folder: Path, hidden: bool) -> None:
    model, trees = classifier("linear", folder, hidden=hidden), examples()
    inputs = with_states(batch_of(trees), folder)
    output = model(**inputs)
    assert model.config.d_model == 16
    weights = words_of(model).mix.softmax(0)
    for row, tree in enumerate(trees):
        vectors = torch.einsum("l,nlw->nw", weights, inputs["leaf_states"][row])
        for node, (start, end) in enumerate(tree.spans):
            mean = vectors[start:end].mean(0)
            expected = model.classifier(model.encoder.hidden(mean) if hidden else mean)
            torch.testing.assert_close(output.node_logits[row, node], expected, rtol=1e-4, atol=1e-5)
        for word in range(len(tree.words)):
            state = model.encoder.hidden(vectors[word]) if hidden else vectors[word]
            torch.testing.assert_close(
                output.leaf_logits[row, word], model.classifier(state), rtol=1e-4, atol=1e-5
            )
        torch.testing.assert_close(output.logits[row], output.node_logits[row, len(tree) - 1])


def test_a_linear_classifier_may_have_a_table_of_words() -> None:
    model = build(
        SYSTEMS["linear"], "classification", {"d_model": 16}, vocab_size=40, node_vocab_size=6, classes="ab"
    ).eval()
    inputs = inputs_of(examples())
    output = model(**inputs)
    ids = inputs["input_ids"][0, :6]
    expected = model.classifier(model.encoder.embedding(ids).mean(0))
    torch.testing.assert_close(output.logits[0], expected)


def test_an_encoder_that_is_missing_or_has_changed_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path / "none"))
    classifier("linear", folder).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    (tmp_path / "checksums.json").unlink()
    for change, message in (
        ({"name": "bge-small"}, "run `treeformer encoder install bge-small`"),
        ({"name": "/not/there"}, "encoder /not/there: expected a folder"),
        ({"sha256": "0" * 64}, f"{folder}: expected the encoder with SHA-256 000"),
        ({"layers": [0, 1, 7]}, "layers: the encoder has the layers 0 to 2, got 7"),
    ):
        path.write_text(json.dumps({**config, "pretrained": {**config["pretrained"], **change}}))
        with pytest.raises(ValueError, match=message) as caught:
            load(tmp_path)
        assert str(tmp_path) in str(caught.value)


def test_what_is_missing_is_named(folder: Path) -> None:
    model = classifier("linear", folder)
    inputs = batch_of(examples())
    states = with_states(inputs, folder)["leaf_states"]
    bare = {name: tensor for name, tensor in inputs.items() if not name.startswith("piece")}
    with pytest.raises(ValueError, match=r"expected those of the encoder .*, or leaf_states"):
        model(**bare)
    with pytest.raises(
        ValueError, match=r"leaf_states: expected a shape \[B, 9, 3, 16\], got \[4, 9, 2, 16\]"
    ):
        model(**bare, leaf_states=states[:, :, :2])
    words_of(model)._frozen.clear()
    with pytest.raises(
        ValueError, match=r"leaf_states: expected a tensor, as the encoder .* is not attached"
    ):
        model(**inputs)
    plain = build(SYSTEMS["linear"], "classification", {}, vocab_size=9, node_vocab_size=6, classes="ab")
    with pytest.raises(ValueError, match="leaf_states: this model has no encoder"):
        plain(**bare, leaf_states=states)


def test_translators_have_no_encoder(folder: Path) -> None:
    with pytest.raises(ValueError, match="encoder: only classifiers read words through an encoder"):
        build(
            SYSTEMS["transformer"],
            "translation",
            {},
            vocab_size=40,
            node_vocab_size=6,
            pretrained=settings(folder),
        )


def test_settings_that_make_no_sense_are_refused(folder: Path) -> None:
    content = settings(folder).model_dump()
    for change, message in (
        ({"train": "half"}, "pretrained: train"),
        ({"train": "all"}, "config: expected the config of the encoder with train: all, none with frozen"),
        ({"layers": []}, "layers"),
        ({"width": 0}, "width"),
    ):
        with pytest.raises(ValueError, match=message):
            SYSTEMS["linear"].config_class(pretrained={**content, **change})
