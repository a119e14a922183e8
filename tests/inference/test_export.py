"""Exported classifiers: the graphs of torch.export and ONNX give the logits of the model."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable
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
from treeformer import Classifier, Tree, TreeProcessor, load_parser
from treeformer.cli.commands import app
from treeformer.inference.export import INPUTS, OUTPUTS, export_onnx, export_program
from treeformer.inference.loading import load_run
from treeformer.inference.shipped import SHIPPED
from treeformer.trees import random_tree

TREES = {**SIZES, "node_vocab_size": 6, "num_labels": 3}
SYSTEMS: dict[str, Callable[[], Any]] = {
    "label nodes": lambda: tree_transformer(),
    "released convention": lambda: tree_transformer(
        convention="released", vertical_rows=2, horizontal_rows=3
    ),
    "composed nodes": lambda: tree_transformer(
        node_inputs="composed", leaf_inputs="context", encoder_layers=1
    ),
    "tree-lstm": lambda: tree_lstm("child-sum"),
    "binary tree-lstm": lambda: tree_lstm("binary"),
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


def tree_lstm(composition: str) -> Any:
    config = treeformer.TreeLstmConfig(vocab_size=40, d_model=16, num_labels=3, composition=composition)
    return treeformer.TreeLstmForSequenceClassification(config)


@cache
def model_of(system: str) -> Any:
    torch.manual_seed(1)
    model = SYSTEMS[system]().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def random_batch(seed: int, *, binary: bool = False) -> dict[str, Tensor]:
    """Inputs of one to four trees of 1 to 80 words, with any numbers of children unless they are binary."""
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(80)]
    sizes = [chance.randint(1, 80) for _ in range(chance.randint(1, 4))]
    trees = [random_tree(words[:size], seed=seed) for size in sizes]
    return inputs_of(trees if binary else [of_any_arity(tree, chance) for tree in trees], seed=seed)


def of_any_arity(tree: Tree, chance: random.Random) -> Tree:
    """The tree without some of its nodes, and with others over a single child."""
    *inner, root = tree.spans
    spans = [*(span for span in inner for _ in range(chance.choice([0, 1, 1, 2]))), root]
    return Tree(tree.words, tree.tags, ["X"] * len(spans), spans)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_graph_of_torch_gives_the_logits_of_the_model(system: str) -> None:
    model = model_of(system)
    reads = "words" if system in ("transformer", "bilstm") else "trees"
    program = export_program(model, reads).module()
    one = [Tree.from_brackets("(S (NN a))")]
    binary = system == "binary tree-lstm"
    batches = [random_batch(seed, binary=binary) for seed in range(4)]
    for inputs in (inputs_of(one), inputs_of(one * 3), *batches):
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
    assert result.stderr == f"treeformer: exporting {SHIPPED} …\n"
    return file


def test_onnxruntime_gives_the_logits_of_the_model_for_100_random_batches(written: Path) -> None:
    session = onnxruntime.InferenceSession(written)
    assert [value.name for value in session.get_inputs()] == list(INPUTS["trees"])
    model = load_run(SHIPPED, device="cpu").model
    assert largest_difference(session, model, map(random_batch, range(100))) <= 1e-5


@pytest.mark.parametrize("system", ["composed nodes", "tree-lstm", "binary tree-lstm"])
def test_onnxruntime_computes_steps_up_a_tree(system: str, tmp_path: Path) -> None:
    save_run(system, tmp_path)
    export_onnx(tmp_path, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    batches = (random_batch(seed, binary=system == "binary tree-lstm") for seed in range(10))
    assert largest_difference(session, model_of(system), batches) <= 1e-5


def test_what_torch_cannot_write_as_onnx_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise torch.onnx.OnnxExporterError("a page of text")

    save_run("transformer", tmp_path)
    monkeypatch.setattr(torch.onnx, "export", fail)
    file = tmp_path / "model.onnx"
    result = CliRunner().invoke(app, ["export", str(tmp_path), "--onnx", str(file)])
    assert result.exit_code
    assert "torch cannot write a transformer with these settings as ONNX" in str(result.exception)
    assert not file.exists()


def save_run(system: str, folder: Path) -> None:
    """A run with the model of a system, and a processor for it."""
    words, labels = [f"w{number}" for number in range(36)], "ABCD"
    tree = Tree(words, ["X"] * 36, list(labels), [(0, end) for end in range(33, 37)])
    processor = TreeProcessor.from_trees([tree], classes=["bad", "so so", "good"])
    model_of(system).save_pretrained(folder)
    processor.save_pretrained(folder)


def largest_difference(session: Any, model: Any, batches: Iterable[dict[str, Tensor]]) -> float:
    """The largest difference of a logit of these batches between a session of onnxruntime and a model."""
    largest = 0.0
    for inputs in batches:
        with torch.inference_mode():
            expected = model(**inputs)
        logits = session.run(OUTPUTS["trees"], {name: value.numpy() for name, value in inputs.items()})
        for name, values in zip(OUTPUTS["trees"], logits, strict=True):
            largest = max(largest, (torch.from_numpy(values) - expected[name]).abs().max().item())
    return largest


def test_the_file_classifies_a_sentence_as_the_classifier_does(written: Path) -> None:
    session = onnxruntime.InferenceSession(written)
    classifier = Classifier.from_pretrained(SHIPPED, device="cpu")
    trees = load_parser("en").parse(["A gorgeous, witty movie.", "It is awful."])
    inputs = {name: value.numpy() for name, value in classifier.processor(trees).items()}
    [logits] = session.run(["logits"], inputs)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    assert [classes[row.argmax()] for row in logits] == [answer.label for answer in classifier(trees)]


@pytest.mark.parametrize("system", ["label nodes", "composed nodes", "tree-lstm"])
def test_a_compiled_tree_model_has_no_graph_break(system: str) -> None:
    model = model_of(system)
    with torch._dynamo.config.patch(allow_rnn=system == "composed nodes"):
        compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
        for seed in range(2):
            inputs = random_batch(seed)
            with torch.inference_mode():
                torch.testing.assert_close(
                    compiled(**inputs).logits, model(**inputs).logits, atol=1e-5, rtol=0
                )


def test_a_missing_package_is_reported_before_the_run_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"onnxscript is not installed; .*'\.\[onnx\]' in the clone"
    ):
        export_onnx(tmp_path / "missing", tmp_path / "x.onnx")
