"""transformers knows our models, in whatever order the two packages are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer
from transformers import pipeline as hf_pipeline

from tests.models.inputs import examples, inputs_of, tree_config
from treeformer import (
    Classifier,
    TransformerForSequenceClassification,
    Translator,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
    TreeTransformerModel,
)
from treeformer.models import systems
from treeformer.models.systems import SYSTEMS, System, register_system

ORDERS = {
    "treeformer first": "import treeformer; from transformers import AutoConfig",
    "transformers first": "from transformers import AutoConfig; import treeformer",
    "through a base class": "import treeformer; from transformers import PreTrainedModel, AutoConfig",
    "through a model": "from treeformer import TreeTransformerConfig; from transformers import AutoConfig",
    "looked for only": "import treeformer, importlib.util as u; u.find_spec('transformers')\n"
    "from transformers import AutoConfig",
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_imports_does_not_matter(order: str, tmp_path: Path) -> None:
    tree_config().save_pretrained(tmp_path)
    script = f"{ORDERS[order]}\nprint(type(AutoConfig.from_pretrained({str(tmp_path)!r})).__name__)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("TreeTransformerConfig", "")


def test_every_system_is_registered_with_what_it_has() -> None:
    for system in SYSTEMS.values():
        for automatic, model_class in (
            (AutoModel, system.encoder),
            (AutoModelForSequenceClassification, system.classifier),
            (AutoModelForSeq2SeqLM, system.translator),
        ):
            found = automatic._model_mapping.get(system.config_class, None)
            assert found is model_class, (system.name, automatic)


def test_a_system_of_the_user_is_registered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnConfig(SYSTEMS["transformer"].config_class):  # type: ignore[misc]
        model_type = "own-system"

    class OwnClassifier(TransformerForSequenceClassification):
        config_class = OwnConfig

    monkeypatch.setattr(systems, "SYSTEMS", dict(SYSTEMS))
    register_system(System("own", "words", OwnConfig, OwnClassifier, None))
    model = AutoModelForSequenceClassification.from_config(OwnConfig(vocab_size=9, d_model=8, ffn_dim=8))
    assert isinstance(model, OwnClassifier)


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_a_pipeline_answers_as_the_classifier_does(runs: Path, system: str) -> None:
    folder, texts = runs / f"sentiment-{system}", ["The good film tells a great story.", "Bad."]
    expected = Classifier.from_pretrained(folder, device="cpu")(texts)
    answers = hf_pipeline("text-classification", model=str(folder), device="cpu")(texts)
    for answer, other in zip(answers, expected, strict=True):
        assert answer["label"] == other.label
        assert answer["score"] == pytest.approx(max(other.probabilities), abs=1e-5)


def test_the_automatic_class_loads_a_translator(runs: Path) -> None:
    folder = runs / "translation-tree-transformer"
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert isinstance(model, TreeTransformerForConditionalGeneration)
    translator = Translator.from_pretrained(folder, device="cpu")
    for name, tensor in translator.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name


def test_the_tokenizer_saves_what_it_loads(runs: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(runs / "sentiment-tree-transformer")
    tokenizer.save_pretrained(tmp_path)
    again = type(tokenizer).from_pretrained(tmp_path)("The good film.")
    for name, tensor in tokenizer("The good film.").items():
        assert torch.equal(again[name], tensor)
    with pytest.raises(ValueError, match="return_tensors: expected pt, got 'np'"):
        tokenizer("The good film.", return_tensors="np")


@pytest.mark.parametrize(
    "model_class", [TreeTransformerForSequenceClassification, TreeTransformerForConditionalGeneration]
)
def test_a_bare_encoder_is_the_encoder_of_a_model(model_class: type, tmp_path: Path) -> None:
    model = model_class(tree_config(num_labels=3)).eval()
    model.save_pretrained(tmp_path)
    bare = AutoModel.from_pretrained(tmp_path)
    assert isinstance(bare, TreeTransformerModel)
    inputs = inputs_of(examples())
    torch.testing.assert_close(bare(**inputs).last_hidden_state, model.encoder(**inputs).last_hidden_state)


def test_a_model_starts_from_a_bare_encoder_with_a_fresh_head(tmp_path: Path) -> None:
    bare = TreeTransformerModel(tree_config(node_inputs="composed"))
    bare.save_pretrained(tmp_path)
    model = TreeTransformerForSequenceClassification.from_pretrained(tmp_path, num_labels=7)
    assert model.classifier.weight.shape == (7, 16)
    assert model.classifier.weight.isfinite().all()
    for name, tensor in bare.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name


def test_a_bare_encoder_with_a_missing_tensor_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from treeformer.checksums import CHECKSUMS

    TreeTransformerForSequenceClassification(tree_config()).save_pretrained(tmp_path)
    (tmp_path / CHECKSUMS).unlink()
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["encoder.embedding.weight"]
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"tensor encoder\.embedding\.weight is missing"):
        TreeTransformerModel.from_pretrained(tmp_path)


def test_a_head_of_another_kind_is_still_refused(tmp_path: Path) -> None:
    TreeTransformerForConditionalGeneration(tree_config()).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"tensor classifier\.\w+ is missing"):
        TreeTransformerForSequenceClassification.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.classifier])
def test_vectors_of_the_caller_replace_those_of_the_tokens(name: str) -> None:
    system = SYSTEMS[name]
    model = systems.build(
        system, "classification", {"d_model": 16}, vocab_size=40, node_vocab_size=6, classes="ab"
    ).eval()
    inputs = inputs_of(examples())
    if system.reads == "words":
        inputs = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    expected = model(**inputs).logits
    ids = inputs.pop("input_ids")
    vectors = model.get_input_embeddings()(ids)
    torch.testing.assert_close(model(inputs_embeds=vectors, **inputs).logits, expected)
    assert not torch.allclose(model(inputs_embeds=vectors + 1, **inputs).logits, expected)
    with pytest.raises(ValueError, match="expected one of the two, got both"):
        model(input_ids=ids, inputs_embeds=vectors, **inputs)
    with pytest.raises(ValueError, match="expected one of the two, got neither"):
        model(**inputs)
    with pytest.raises(ValueError, match=r"inputs_embeds: expected a shape \[batch, words, 16\], got"):
        model(inputs_embeds=vectors[..., :8], **inputs)
