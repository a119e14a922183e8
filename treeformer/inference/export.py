"""Classifiers as graphs of torch.export and ONNX, which run without treeformer."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from treeformer.data.batching import Reads
from treeformer.inference.loading import load_run
from treeformer.models.pretrained import PreTrained
from treeformer.storage import write_file
from treeformer.trees import Tree

INPUTS: dict[Reads, tuple[str, ...]] = {
    "trees": ("input_ids", "attention_mask", "node_ids", "node_spans", "node_mask"),
    "words": ("input_ids", "attention_mask"),
}  #: names of the inputs of a graph, as those of a model
OUTPUTS: dict[Reads, tuple[str, ...]] = {
    "trees": ("logits", "leaf_logits", "node_logits"),
    "words": ("logits",),
}  #: names of the outputs of a graph
#: Two trees, four leaves and five nodes wide: torch.export takes equal sizes, and 1, for fixed ones.
_EXAMPLES = ("(A (B (C (a a) (b b)) (c c)) (D (E (d d))))", "(A (a a) (B (b b) (C (c c))))")
_TOLERANCE = 1e-4


def export_program(model: PreTrained, reads: Reads) -> torch.export.ExportedProgram:
    """The graph of a classifier by torch.export, for any number of examples, words and nodes.

    Its inputs are tensors by the names in `INPUTS`, its outputs a tuple of those in `OUTPUTS`. It does not
    check its inputs, as the model does on a CPU.
    """
    _check(model)
    inputs = _inputs_of(_EXAMPLES, reads)
    free = {name: dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC) for name in inputs}
    graph = _Graph(model.train(False), reads)
    return torch.export.export(graph, (), kwargs=inputs, dynamic_shapes=free)


def export_onnx(run: str | Path, file: str | Path) -> None:
    """Write the classifier of a run as an ONNX file, with the names of its classes as metadata."""
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed; export needs it: pip install '.[onnx]' in the clone"
        raise ModuleNotFoundError(message, name=error.name) from None
    loaded = load_run(run, "classification", device="cpu")
    reads = loaded.system.reads
    program = export_program(loaded.model, reads)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # warns of torchvision
    with warnings.catch_warnings(), torch.no_grad():  # with gradients, torch cannot write steps up a tree
        warnings.simplefilter("ignore")  # of torch about itself
        inputs, names = _inputs_of(_EXAMPLES, reads), OUTPUTS[reads]
        try:
            exported = torch.onnx.export(program, (), kwargs=inputs, output_names=names, verbose=False)
        except torch.onnx.OnnxExporterError as error:  # operators of a registered system
            raise ValueError(
                f"{run}: torch cannot write a {loaded.system.name} with these settings as ONNX; "
                "export_program gives its graph of torch.export"
            ) from error
    assert exported is not None
    proto = exported.model_proto
    facts = {"classes": json.dumps(loaded.processor.settings.classes), "system": loaded.system.name}
    onnx.helper.set_model_props(proto, facts)
    content = proto.SerializeToString()
    _compare(content, loaded.model, reads)
    write_file(Path(file), content)


def _compare(content: bytes, model: PreTrained, reads: Reads) -> None:
    """Raise ``ValueError`` unless onnxruntime gives the logits of the model, for one sentence and for two."""
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    network: Any = model
    for brackets in (_EXAMPLES, ["(A (a a))"]):
        inputs = _inputs_of(brackets, reads)
        with torch.inference_mode():
            expected = network(**inputs)
        given = session.run(OUTPUTS[reads], {name: value.numpy() for name, value in inputs.items()})
        for name, values in zip(OUTPUTS[reads], given, strict=True):
            difference = float((torch.from_numpy(values) - expected[name]).abs().max())
            if not difference <= _TOLERANCE:
                raise ValueError(
                    f"{type(model).__name__}: the graph of ONNX gives other {name} than the model, by "
                    f"{difference:g}; nothing was written"
                )


class _Graph(nn.Module):
    """A model whose inputs are named tensors and whose outputs are a tuple."""

    def __init__(self, model: PreTrained, reads: Reads) -> None:
        super().__init__()
        self.model = model
        self.names = OUTPUTS[reads]

    def forward(  # torch.export wants a name for each input
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        node_ids: Tensor | None = None,
        node_spans: Tensor | None = None,
        node_mask: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        tree = {"node_ids": node_ids, "node_spans": node_spans, "node_mask": node_mask}
        given = {name: value for name, value in tree.items() if value is not None}
        output: Any = self.model(input_ids=input_ids, attention_mask=attention_mask, **given)
        return tuple(output[name] for name in self.names)


def _check(model: PreTrained) -> None:
    """Raise ``ValueError`` for a model that cannot be exported."""
    if not hasattr(model, "classifier"):
        raise ValueError(f"{type(model).__name__}: expected a classifier; translators cannot be exported")
    if getattr(model.config, "pretrained", None) is not None:
        raise ValueError("encoder: a model that reads words through a pretrained encoder cannot be exported")


def _inputs_of(brackets: Sequence[str], reads: Reads) -> dict[str, Tensor]:
    """Inputs of trees in brackets, with the first token and label everywhere."""
    from treeformer.ops import TreeBatch

    batch = TreeBatch.from_trees([Tree.from_brackets(text, unary="keep") for text in brackets])
    inputs = {
        "input_ids": batch.leaf_mask.long(),
        "attention_mask": batch.leaf_mask.long(),
        "node_ids": torch.zeros_like(batch.node_mask, dtype=torch.long),
        "node_spans": batch.spans,
        "node_mask": batch.node_mask.long(),
    }
    return {name: inputs[name] for name in INPUTS[reads]}
