"""Weights of exported models, against the model that was exported."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from transformers import BertConfig, BertModel

from tests.encoders import tiny
from tests.encoders.checkpoint import part, varint
from tests.encoders.conftest import INPUTS, bert, exported
from treeformer.encoders.onnx import read_onnx
from treeformer.encoders.protobuf import Message
from treeformer.encoders.weights import plain_name


def test_the_weights_are_those_of_the_model_bit_for_bit(export: bytes) -> None:
    tensors = {plain_name(name): value for name, value in read_onnx(export, "tiny.onnx").items()}
    expected = tiny.weights()
    assert set(tensors) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(tensors[name], value, err_msg=name)


def test_weights_that_are_equal_and_stored_once_are_all_there() -> None:
    model = BertModel(BertConfig(**tiny.encoder().config(), attn_implementation="eager")).eval()
    tensors = {plain_name(name): value for name, value in read_onnx(exported(model, 17), "new").items()}
    for name, value in model.state_dict().items():
        if not name.startswith("pooler"):
            np.testing.assert_array_equal(tensors[name], value.numpy(), err_msg=name)


def test_the_model_computes_what_the_export_computes(export: bytes) -> None:
    model = BertModel(BertConfig(**tiny.encoder().config()), add_pooling_layer=False).eval()
    tensors = {plain_name(name): value.copy() for name, value in read_onnx(export, "tiny.onnx").items()}
    model.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()})
    ids = torch.randint(0, len(tiny.PIECES), (3, 20))
    mask = (torch.arange(20) < torch.tensor([[20], [1], [13]])).long()
    kinds = torch.randint(0, 2, (3, 20))
    session = onnxruntime.InferenceSession(export)
    (expected,) = session.run(
        None, dict(zip(INPUTS, (ids.numpy(), mask.numpy(), kinds.numpy()), strict=True))
    )
    with torch.no_grad():
        states = model(ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state
    difference = np.abs(states.numpy() - expected)[mask.bool().numpy()]
    assert difference.max() < 1e-5


def test_values_that_are_not_raw_bytes_are_read() -> None:
    tensor = helper.make_tensor("x.weight", TensorProto.FLOAT, [2, 3], [1, 2, 3, 4, 5, 6.5])
    graph = helper.make_graph([], "g", [], [], [tensor])
    content = helper.make_model(graph).SerializeToString()
    np.testing.assert_array_equal(read_onnx(content, "g")["x.weight"], [[1, 2, 3], [4, 5, 6.5]])


def test_a_model_with_a_bias_for_two_matrices_is_refused() -> None:
    names = ("a", "b")
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [1, 1], [1]) for name in names]
    bias = helper.make_tensor("x.bias", TensorProto.FLOAT, [1], [1])
    nodes = [helper.make_node("MatMul", ["input", name], [f"{name}_out"]) for name in names]
    nodes += [helper.make_node("Add", ["x.bias", f"{name}_out"], [f"{name}_sum"]) for name in names]
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], [*weights, bias]))
    with pytest.raises(ValueError, match=r"g: two matrices .* x.weight is unclear"):
        read_onnx(model.SerializeToString(), "g")


def test_weights_in_another_file_are_refused(export: bytes) -> None:
    model = onnx.load_from_string(export)
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    with pytest.raises(ValueError, match="is stored in another file, expected one file"):
        read_onnx(model.SerializeToString(), "tiny.onnx")


@pytest.mark.parametrize("length", [1, 10, 1_000, -1])
def test_a_file_that_is_cut_off_is_refused(export: bytes, length: int) -> None:
    with pytest.raises(ValueError, match=r"tiny.onnx: (the message is cut off|no weights there)"):
        read_onnx(export[:length], "tiny.onnx")


@pytest.mark.parametrize("content", [b"", b"not a model at all", b"\xff" * 100])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"x\.onnx"):
        read_onnx(content, "x.onnx")


def test_a_shape_that_does_not_fit_is_refused() -> None:
    tensor = helper.make_tensor("x.weight", TensorProto.FLOAT, [2], [1, 2])
    tensor.dims[0] = 3
    content = helper.make_model(helper.make_graph([], "g", [], [], [tensor])).SerializeToString()
    with pytest.raises(ValueError, match="do not fit the shape"):
        read_onnx(content, "g")


def test_numbers_of_a_message_may_be_packed() -> None:
    content = varint(3 << 3) + varint(5) + part(3, varint(300) + varint(2**40))
    assert Message(content, "m").integers(3) == [5, 300, 2**40]
    assert Message(content, "m").integer(4, 9) == 9


def test_the_export_is_the_same_for_any_attention() -> None:
    sdpa = read_onnx(exported(bert("sdpa"), 17), "sdpa")
    assert {plain_name(name) for name in sdpa} >= set(tiny.weights())
