"""Exported classifiers: the graphs of torch.export and ONNX give the logits of the model."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

import treeformer
from tests.models.inputs import SIZES, inputs_of, plain
from treeformer import Classifier, Tree, load_parser
from treeformer.cli.commands import app
from treeformer.inference.export import INPUTS, OUTPUTS, export_program
from treeformer.inference.loading import load_run
from treeformer.inference.shipped import SHIPPED
from treeformer.trees import random_tree

TREES = {**SIZES, "node_vocab_size": 6, "num_labels": 3}
SYSTEMS: dict[str, Callable[[], Any]] = {
    "label nodes": lambda: tree_transformer(),
    "released convention": lambda: tree_transformer(
        convention="released", vertical_rows=2, horizontal_rows=3
    ),
    "composed nodes": lambda: tree_transformer(node_inputs="composed"),
    "words with context": lambda: tree_transformer(leaf_inputs="context"),
    "tree-lstm": lambda: treeformer.TreeLstmForSequenceClassification(
        treeformer.TreeLstmConfig(vocab_size=40, d_model=16, num_labels=3)
    ),
    "transformer": lambda: treeformer.TransformerForSequenceClassification(
        treeformer.TransformerConfig(**SIZES, num_labels=3)
    ),
    "bilstm": lambda: treeformer.BiLstmForSequenceClassification(
        treeformer.BiLstmConfig(vocab_size=40, d_model=16, num_labels=3)
    ),
}


def tree_transformer(**changes: Any) -> Any:
    config = treeformer.TreeTransformerConfig(**{**TREES, **changes})
    return treeformer.TreeTransformerForSequenceClassification(config)


@cache
def model_of(system: str) -> Any:
    torch.manual_seed(1)
    model = SYSTEMS[system]().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def random_batch(seed: int) -> dict[str, Tensor]:
    """Inputs of one to four trees of 1 to 80 words."""
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(80)]
    sizes = [chance.randint(1, 80) for _ in range(chance.randint(1, 4))]
    return inputs_of([random_tree(words[:size], seed=seed) for size in sizes], seed=seed)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_graph_of_torch_gives_the_logits_of_the_model(system: str) -> None:
    model = model_of(system)
    reads = "words" if system in ("transformer", "bilstm") else "trees"
    program = export_program(model, reads).module()
    one = [Tree.from_brackets("(S (NN a))")]
    for inputs in (inputs_of(one), inputs_of(one * 3), *map(random_batch, range(4))):
        given = inputs if reads == "trees" else plain(inputs)
        with torch.inference_mode():
            expected, logits = model(**given), program(**given)
        for name, values in zip(OUTPUTS[reads], logits, strict=True):
            torch.testing.assert_close(values, expected[name], atol=1e-5, rtol=0)


def test_what_cannot_be_exported_is_refused_in_one_line() -> None:
    translator = treeformer.TransformerForConditionalGeneration(
        treeformer.TransformerConfig(**SIZES, decoder_layers=1)
    )
    with pytest.raises(ValueError, match="expected a classifier; translators cannot be exported"):
        export_program(translator, "words")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The included model, written by the command."""
    file = tmp_path_factory.mktemp("onnx") / "sst.onnx"
    result = CliRunner().invoke(app, ["export", str(SHIPPED), "--onnx", str(file)])
    assert result.exit_code == 0, result.output
    return file


def test_onnxruntime_gives_the_logits_of_the_model_for_100_random_batches(written: Path) -> None:
    session = onnxruntime.InferenceSession(written)
    model = load_run(SHIPPED, device="cpu").model
    assert [value.name for value in session.get_inputs()] == list(INPUTS["trees"])
    largest = 0.0
    for seed in range(100):
        inputs = random_batch(seed)
        with torch.inference_mode():
            expected = model(**inputs)
        logits = session.run(OUTPUTS["trees"], {name: value.numpy() for name, value in inputs.items()})
        for name, values in zip(OUTPUTS["trees"], logits, strict=True):
            largest = max(largest, (torch.from_numpy(values) - expected[name]).abs().max().item())
    assert largest <= 1e-5


def test_the_file_classifies_a_sentence_as_the_classifier_does(written: Path) -> None:
    session = onnxruntime.InferenceSession(written)
    classifier = Classifier.from_pretrained(SHIPPED, device="cpu")
    trees = load_parser("en").parse(["A gorgeous, witty movie.", "It is awful."])
    inputs = {name: value.numpy() for name, value in classifier.processor(trees).items()}
    [logits] = session.run(["logits"], inputs)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    assert [classes[row.argmax()] for row in logits] == [answer.label for answer in classifier(trees)]


def test_a_compiled_tree_model_has_no_graph_break() -> None:
    model = model_of("label nodes")
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
    for seed in range(2):
        inputs = random_batch(seed)
        with torch.inference_mode():
            torch.testing.assert_close(compiled(**inputs).logits, model(**inputs).logits, atol=1e-5, rtol=0)
