"""The network by onnxruntime computes what the network by torch computes."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from treeformer import load_parser
from treeformer.parsing.description import read_parser
from treeformer.parsing.lexicon import Lexicon
from treeformer.parsing.loading import MODELS
from treeformer.parsing.network import ParserNetwork, _distance_rows
from treeformer.parsing.onnx_graph import Graph
from treeformer.parsing.onnx_network import OnnxNetwork, distance_rows
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.torch_network import TorchNetwork
from treeformer.parsing.word_batch import WordBatch

SIZES = [
    NetworkSizes(words=5, buckets=9, labels=4, tags=3, width=16, heads=2, inner=8),
    NetworkSizes(words=1, buckets=3, labels=1, tags=2, word_width=3, width=6, heads=3, inner=5, layers=1),
    NetworkSizes(words=7, buckets=40, labels=9, tags=5, width=20, heads=1, span_width=1, distances=4),
]
LEXICON = Lexicon(["the", "cat"], buckets=3)


def random_weights(sizes: NetworkSizes, seed: int) -> dict[str, np.ndarray]:
    """Weights that are large enough for every part of the network to matter."""
    generator = np.random.default_rng(seed)
    return {
        name: (0.5 * generator.standard_normal(shape)).astype(np.float32)
        for name, shape in sizes.shapes().items()
    }


def batch_of(sizes: NetworkSizes, lengths: list[int], seed: int) -> WordBatch:
    """Sentences of these lengths over a few words."""
    generator = random.Random(seed)
    lexicon = Lexicon([f"w{number}" for number in range(sizes.words)], sizes.buckets)
    sentences = [[f"w{generator.randrange(9)}" for _ in range(length)] for length in lengths]
    return WordBatch.of(sentences, lexicon.features)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_shapes_of_the_weights_are_those_of_the_network_by_torch(sizes: NetworkSizes) -> None:
    state = ParserNetwork(sizes).state_dict()
    assert sizes.shapes() == {name: tuple(tensor.shape) for name, tensor in state.items()}


@given(
    st.sampled_from(SIZES), st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 2**32 - 1)
)
@settings(max_examples=60, deadline=None)
def test_all_scores_equal_those_by_torch(sizes: NetworkSizes, lengths: list[int], seed: int) -> None:
    weights, batch = random_weights(sizes, seed), batch_of(sizes, lengths, seed)
    by_torch = TorchNetwork(sizes, weights, torch.device("cpu"))
    states, gaps = by_torch.network(*by_torch._inputs(batch))
    brackets, tags, starts, ends = OnnxNetwork(sizes, weights).scores(batch)
    first, last = by_torch.network.label[0], by_torch.network.label[3]
    half = first.weight.shape[1] // 2
    expected_starts = gaps @ first.weight[:, :half].T + first.bias
    expected_ends = gaps @ first.weight[:, half:].T
    for row, n in enumerate(lengths):
        expected = by_torch.network.brackets(gaps)[row, : n + 1, : n + 1].numpy()
        np.testing.assert_allclose(brackets[row, : n + 1, : n + 1], expected, rtol=1e-4, atol=1e-4)
        scores = by_torch.network.tag(states)[row, :n]
        chosen = scores[torch.arange(n), torch.from_numpy(tags[row, :n])]
        torch.testing.assert_close(chosen, scores.amax(-1), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(starts[row, : n + 1], expected_starts[row, : n + 1], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(ends[row, : n + 1], expected_ends[row, : n + 1], rtol=1e-4, atol=1e-4)
    assert last.out_features == sizes.labels


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_a_shipped_parser_gives_the_trees_that_it_gives_by_torch(language: str) -> None:
    description, weights = read_parser(MODELS / language)
    lexicon = Lexicon(description.words, description.sizes.buckets)
    generator = random.Random(1)
    known = [word for word in description.words[:3000] if word.isalpha()]
    sentences = [[generator.choice(known) for _ in range(length)] for length in (1, 2, 7, 7, 15, 40)]
    batch = WordBatch.of(sentences, lexicon.features)
    by_torch = TorchNetwork(description.sizes, weights, torch.device("cpu")).analyse(batch)
    analysis = OnnxNetwork(description.sizes, weights).analyse(batch)
    assert analysis.spans == by_torch.spans
    assert analysis.labels == by_torch.labels
    for row, words in enumerate(sentences):
        assert analysis.tags[row][: len(words)] == by_torch.tags[row][: len(words)]


def test_a_parser_by_torch_gives_the_same_trees_for_text() -> None:
    parser, by_torch = load_parser("en"), load_parser("en")
    by_torch._network = TorchNetwork(*_sizes_and_weights(), torch.device("cpu"))
    texts = ["It’s Ann’s, and they don’t care. Why?", "The cat that the dog chased slept.", "", "Yes"]
    assert parser.parse_texts(texts) == by_torch.parse_texts(texts)


def _sizes_and_weights() -> tuple[NetworkSizes, dict[str, np.ndarray]]:
    description, weights = read_parser(MODELS / "en")
    return description.sizes, weights


def test_loading_the_network_by_torch_leaves_the_state_of_the_generator() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    TorchNetwork(SIZES[0], random_weights(SIZES[0], 1), torch.device("cpu"))
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("rows", [2, 5, 32])
def test_distances_have_the_rows_that_training_used(rows: int) -> None:
    distances = np.arange(-700, 701)
    assert (
        distance_rows(distances, rows).tolist() == _distance_rows(torch.from_numpy(distances), rows).tolist()
    )


def test_the_package_onnx_reads_what_a_graph_writes() -> None:
    graph = Graph({"x": "float32"})
    parts = graph.add("Split", "x", outputs=2, axis=-1, num_outputs=2)
    product = graph.add("MatMul", parts[0], graph.constant(np.ones((2, 300), np.float32)))
    norm = graph.add("LayerNormalization", product, graph.constant(np.ones(300, np.float32)), epsilon=1e-5)
    model = onnx.load_from_string(graph.serialised({"y": norm}))
    assert [node.op_type for node in model.graph.node] == [
        "Split",
        "MatMul",
        "LayerNormalization",
        "Identity",
    ]
    assert model.graph.node[0].attribute[0].i == -1
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == [[1.0] * 300] * 2
    assert model.graph.node[2].attribute[0].f == pytest.approx(1e-5)


def test_the_network_goes_through_torch_export_for_any_number_of_words() -> None:
    sizes = SIZES[0]
    by_torch = TorchNetwork(sizes, random_weights(sizes, 1), torch.device("cpu"))
    free = torch.export.Dim.DYNAMIC
    matrix, row = {0: free, 1: free}, {0: free}
    inputs = by_torch._inputs(batch_of(sizes, [3, 5], 1))
    shapes = (matrix, row, row, matrix, matrix)
    program = torch.export.export(by_torch.network, inputs, dynamic_shapes=shapes).module()
    for lengths in ([1], [9, 2, 30], [80]):
        inputs = by_torch._inputs(batch_of(sizes, lengths, 2))
        for expected, values in zip(by_torch.network(*inputs), program(*inputs), strict=True):
            torch.testing.assert_close(values, expected, atol=1e-5, rtol=0)
