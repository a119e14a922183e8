"""Hierarchical accumulation: five ways to compute it agree, and padding and other examples do not matter."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.closeness import difference
from tests.ops import oracle
from tests.trees.strategies import trees
from treeformer import Tree, TreeBatch
from treeformer.ops import accumulate
from treeformer.trees import balanced, join, left_branching, right_branching

CONVENTIONS = ["paper", "released"]


def chain(length: int) -> Tree:
    """One leaf under a unary chain."""
    return Tree(["w"], ["X"], ["X"] * length, [(0, 1)] * length)


def flat(arity: int) -> Tree:
    return Tree(["w"] * arity, ["X"] * arity, ["X"], [(0, arity)])


def random_inputs(batch: TreeBatch, *, heads: int, weight_heads: int, rows: tuple[int, int]) -> list[Tensor]:
    """Leaves, nodes, weights and the two tables, in float64, with gradients."""
    width = 6
    shapes = [
        (len(batch), heads, batch.n, width),
        (len(batch), heads, batch.m, width),
        (len(batch), weight_heads, batch.n),
        (rows[0], width // 2),
        (rows[1], width // 2),
    ]
    return [torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes]


def by_loops(examples: list[Tree], inputs: list[Tensor], batch: TreeBatch, convention: str) -> Tensor:
    leaves, nodes, weights, vertical, horizontal = inputs
    result = torch.zeros(nodes.shape, dtype=nodes.dtype)
    for index, tree in enumerate(examples):
        n, m = len(tree.words), len(tree)
        for head in range(leaves.shape[1]):
            result[index, head, :m] = oracle.accumulate(
                tree,
                leaves[index, head, :n],
                nodes[index, head, :m],
                weights[index, min(head, weights.shape[1] - 1), :n],
                vertical,
                horizontal,
                convention,
            )
    return result


def with_gradients(result: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    torch.manual_seed(1)
    direction = torch.randn(result.shape, dtype=result.dtype)  # randn_like would follow the memory layout
    gradients = torch.autograd.grad((result * direction).sum(), inputs)
    return [result, *gradients]


def assert_all_agree(examples: list[Tree], convention: str, rows: tuple[int, int], weight_heads: int) -> None:
    batch = TreeBatch.from_trees(examples)
    torch.manual_seed(0)
    inputs = random_inputs(batch, heads=2, weight_heads=weight_heads, rows=rows)
    expected = with_gradients(by_loops(examples, inputs, batch, convention), inputs)
    for implementation in ("naive", "matrix", "compiled", "cells"):
        leaves, nodes, weights, vertical, horizontal = inputs
        result = accumulate(leaves, nodes, weights, batch, vertical, horizontal, convention, implementation)
        for actual, wanted in zip(with_gradients(result, inputs), expected, strict=True):
            torch.testing.assert_close(actual, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(data=st.data())
@settings(max_examples=40)
def test_all_ways_agree_on_outputs_and_gradients(convention: str, data: st.DataObject) -> None:
    examples = data.draw(st.lists(trees(max_leaves=8), min_size=1, max_size=4))
    rows = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    assert_all_agree(examples, convention, rows, weight_heads=data.draw(st.sampled_from([1, 2])))


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(
    "examples",
    [
        [flat(1)],
        [chain(200), flat(2)],
        [flat(30), right_branching(["w"] * 3)],
        [right_branching(["w"] * 24), left_branching(["w"] * 20), balanced(["w"] * 17)],
        [join([flat(3), chain(2), balanced(["w"] * 5)]), flat(1)],
    ],
    ids=["one leaf and node", "depth 200", "arity 30", "branching", "documents"],
)
def test_they_agree_on_extreme_shapes(convention: str, examples: list[Tree]) -> None:
    assert_all_agree(examples, convention, (50, 100), weight_heads=1)
    assert_all_agree(examples, convention, (3, 2), weight_heads=2)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_they_agree_on_a_deep_right_branching_tree(convention: str) -> None:
    batch = TreeBatch.from_trees([right_branching(["w"] * 201)])
    inputs = random_inputs(batch, heads=1, weight_heads=1, rows=(50, 100))
    leaves, nodes, weights, vertical, horizontal = inputs
    results = [
        with_gradients(
            accumulate(leaves, nodes, weights, batch, vertical, horizontal, convention, implementation),
            inputs,
        )
        for implementation in ("naive", "matrix", "compiled", "cells")
    ]
    for literal, *others in zip(*results, strict=True):
        for fast in others:
            torch.testing.assert_close(fast, literal, rtol=0, atol=1e-9)


@pytest.mark.parametrize("implementation", ["naive", "matrix", "compiled", "cells"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(data=st.data())
@settings(max_examples=20)
def test_nan_in_padding_changes_nothing(convention: str, implementation: str, data: st.DataObject) -> None:
    examples = data.draw(st.lists(trees(max_leaves=8), min_size=2, max_size=4))
    batch = TreeBatch.from_trees(examples)
    leaves, nodes, weights, *tables = random_inputs(batch, heads=2, weight_heads=2, rows=(4, 4))
    clean = accumulate(leaves, nodes, weights, batch, *tables, convention, implementation)
    no_leaf, no_node = ~batch.leaf_mask[:, None], ~batch.node_mask[:, None]
    inputs = [
        leaves.detach().masked_fill(no_leaf[..., None], torch.nan).requires_grad_(),
        nodes.detach().masked_fill(no_node[..., None], torch.nan).requires_grad_(),
        weights.detach().masked_fill(no_leaf, torch.nan).requires_grad_(),
    ]
    dirty = accumulate(*inputs, batch, *tables, convention, implementation)
    assert torch.equal(dirty, clean)
    assert not dirty.masked_select(no_node[..., None]).any()
    for gradient in torch.autograd.grad(dirty.sum(), inputs):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(data=st.data())
@settings(max_examples=20)
def test_an_examples_output_does_not_depend_on_its_batch(convention: str, data: st.DataObject) -> None:
    examples = data.draw(st.lists(trees(max_leaves=12), min_size=2, max_size=5))
    together = TreeBatch.from_trees(examples)
    torch.manual_seed(0)
    tensors = [
        tensor.detach().float() for tensor in random_inputs(together, heads=2, weight_heads=1, rows=(4, 4))
    ]
    leaves, nodes, weights, *tables = tensors
    result = accumulate(leaves, nodes, weights, together, *tables, convention)
    for index, tree in enumerate(examples):
        n, m = len(tree.words), len(tree)
        alone = accumulate(
            leaves[[index], :, :n],
            nodes[[index], :, :m],
            weights[[index], :, :n],
            TreeBatch.from_trees([tree]),
            *tables,
            convention,
        )
        assert difference(result[[index], :, :m], alone) < 1e-6


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("shape", [left_branching, right_branching, balanced])
def test_deep_trees_do_not_lose_precision_in_a_larger_batch(shape, convention: str) -> None:  # type: ignore[no-untyped-def]
    tree, longer = shape(["w"] * 200), shape(["w"] * 500)
    together, alone = TreeBatch.from_trees([tree, longer]), TreeBatch.from_trees([tree])
    torch.manual_seed(0)
    leaves, nodes, weights, *tables = (
        tensor.detach().float() for tensor in random_inputs(together, heads=1, weight_heads=1, rows=(50, 100))
    )
    single = leaves[[0], :, :200], nodes[[0], :, :199], weights[[0], :, :200]
    expected = accumulate(
        *(tensor.double() for tensor in single), alone, *(t.double() for t in tables), convention
    )
    scale = expected.abs().max()
    for result in (
        accumulate(leaves, nodes, weights, together, *tables, convention)[[0], :, :199],
        accumulate(*single, alone, *tables, convention),
    ):
        assert (result.double() - expected).abs().max() < 1e-6 * scale


def test_without_tables_no_embeddings_are_added() -> None:
    examples = [balanced(["w"] * 7)]
    batch = TreeBatch.from_trees(examples)
    leaves, nodes, weights, vertical, horizontal = random_inputs(batch, heads=1, weight_heads=1, rows=(5, 5))
    zeros = accumulate(leaves, nodes, weights, batch, vertical * 0, horizontal * 0)
    torch.testing.assert_close(accumulate(leaves, nodes, weights, batch), zeros)


def test_half_precision_values_get_float32_coefficients() -> None:
    batch = TreeBatch.from_trees([right_branching(["w"] * 40)])
    inputs = random_inputs(batch, heads=2, weight_heads=1, rows=(50, 100))
    exact = accumulate(*inputs[:3], batch, *inputs[3:])
    leaves, nodes, weights, *tables = (tensor.detach() for tensor in inputs)
    # what is lost is what bf16 values and one product lose, not sums of weights
    half = accumulate(
        leaves.bfloat16(), nodes.bfloat16(), weights.float(), batch, *(t.float() for t in tables)
    )
    assert half.dtype == torch.bfloat16
    assert (half.double() - exact).norm() / exact.norm() < 0.01


class LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // tensor.element_size())
        return result


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("shape", [right_branching, left_branching, balanced])
def test_nothing_larger_than_nodes_times_leaves_is_ever_made(shape, convention: str) -> None:  # type: ignore[no-untyped-def]
    n = 300
    tree = shape(["w"] * n)
    batch = TreeBatch.from_trees([tree])
    inputs = random_inputs(batch, heads=1, weight_heads=1, rows=(50, 100))
    with LargestTensor() as largest:
        accumulate(*inputs[:3], batch, *inputs[3:], convention).sum().backward()
    assert largest.numbers <= 4 * n * n  # m × n × n would be 75 times that


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaves": torch.zeros(1, 2, 5, 4)}, r"leaves: expected a shape \[1, 2, 4, 4\], got \[1, 2, 5, 4\]"),
        ({"leaves": torch.zeros(4, 4)}, r"leaves: expected a shape \[batch, heads, leaves, width\]"),
        ({"nodes": torch.zeros(1, 2, 4, 4)}, r"nodes: expected a shape \[1, 2, 3, 4\], got \[1, 2, 4, 4\]"),
        ({"weights": torch.zeros(1, 3, 4)}, r"weights: expected a shape \[1, 1, 4\] or \[1, 2, 4\]"),
        ({"vertical": torch.zeros(3, 2)}, "both tables or neither"),
        (
            {"vertical": torch.zeros(3, 3), "horizontal": torch.zeros(3, 2)},
            r"vertical: expected a shape \[rows, 2\], got \[3, 3\]",
        ),
        ({"nodes": torch.zeros(1, 2, 3, 4).double()}, "nodes: expected the dtype torch.float32 of leaves"),
        ({"convention": "papers"}, "convention: expected one of paper, released, got 'papers'"),
        (
            {"implementation": "fast"},
            "implementation: expected one of auto, cells, matrix, compiled, naive, got 'fast'",
        ),
    ],
)
def test_sizes_that_do_not_match_are_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "leaves": torch.zeros(1, 2, 4, 4),
        "nodes": torch.zeros(1, 2, 3, 4),
        "weights": torch.zeros(1, 1, 4),
        "batch": TreeBatch.from_trees([balanced(["w"] * 4)]),
    }
    with pytest.raises(ValueError, match=message):
        accumulate(**{**arguments, **change})  # type: ignore[arg-type]
