"""A tree is a value: flat, immutable, checked, and the same after every way out and back."""

import copy
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees.strategies import trees
from treeformer.trees import Node, Tree

CAT = Tree(
    words=("the", "cat", "sleeps"),
    tags=("DT", "NN", "VBZ"),
    labels=("NP", "VP", "S"),
    spans=((0, 2), (2, 3), (0, 3)),
)


@given(trees())
def test_brackets_on_one_line_read_back_as_the_same_tree(tree: Tree) -> None:
    assert Tree.from_brackets(str(tree), unary="keep", strip=False) == tree
    assert "\n" not in str(tree)


@given(trees(), st.integers(1, 60))
def test_brackets_over_several_lines_read_back_as_the_same_tree(tree: Tree, width: int) -> None:
    assert Tree.from_brackets(tree.pretty(width), unary="keep", strip=False) == tree


def test_pretty_brackets_break_what_does_not_fit() -> None:
    assert CAT.pretty() == str(CAT)
    assert CAT.pretty(24) == "(S\n  (NP (DT the) (NN cat))\n  (VP (VBZ sleeps)))"
    assert CAT.pretty(23) == "(S\n  (NP\n    (DT the)\n    (NN cat))\n  (VP (VBZ sleeps)))"


@given(trees())
def test_parents_and_depths_are_those_of_the_spans(tree: Tree) -> None:
    for node in tree:
        above = [
            other
            for other in range(node.index + 1, len(tree))
            if tree.spans[other][0] <= node.span[0] and node.span[1] <= tree.spans[other][1]
        ]
        assert node.parent == (above[0] if above else -1)
        assert node.depth == len(above)
        assert (tree.parents[node.index], tree.depths[node.index]) == (node.parent, node.depth)
    for leaf, (parent, depth) in enumerate(zip(tree.leaf_parents, tree.leaf_depths, strict=True)):
        above = [node.index for node in tree if node.span[0] <= leaf < node.span[1]]
        assert parent == above[0]
        assert depth == len(above)


@given(trees(max_leaves=4), trees(max_leaves=4))
def test_trees_compare_by_value(one: Tree, other: Tree) -> None:
    def value(tree: Tree) -> tuple[object, ...]:
        return (tree.words, tree.tags, tree.labels, tree.spans)

    assert (one == other) == (value(one) == value(other))
    again = Tree(*map(list, value(one)))  # type: ignore[arg-type]
    assert again == one
    assert hash(again) == hash(one)


@pytest.mark.parametrize("part", ["words", "tags", "labels"])
def test_trees_that_differ_in_one_string_differ(part: str) -> None:
    parts = {"words": CAT.words, "tags": CAT.tags, "labels": CAT.labels, "spans": CAT.spans}
    changed = Tree(**{**parts, part: ("Y", *parts[part][1:])})  # type: ignore[arg-type]
    assert changed != CAT
    assert hash(changed) != hash(CAT)
    assert str(CAT) != CAT


@given(trees())
def test_a_tree_survives_pickling_and_copying(tree: Tree) -> None:
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == copy.copy(tree) == tree


def test_iteration_yields_nodes_in_post_order() -> None:
    assert list(CAT) == [
        Node(0, "NP", (0, 2), 2, 1),
        Node(1, "VP", (2, 3), 2, 1),
        Node(2, "S", (0, 3), -1, 0),
    ]
    assert len(CAT) == 3


def test_the_representation_is_code_that_makes_the_tree() -> None:
    assert eval(repr(CAT)) == CAT


@pytest.mark.parametrize("name", ["words", "tags", "labels", "spans", "parents", "anything"])
def test_a_tree_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(CAT, name, ())
    with pytest.raises(AttributeError):
        delattr(CAT, name)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("words", (), "words: a tree has at least one leaf"),
        ("words", "abc", "words: expected a sequence of strings, got the string 'abc'"),
        ("words", ("a", "", "c"), r"words\[1\] is empty"),
        ("words", ("a", "b c", "d"), r"words\[1\] = 'b c' holds the separator ' '"),
        ("words", ("a", "b", "c\t"), r"words\[2\] = .* holds the separator"),
        ("words", ("a", "b\n", "c"), r"words\[1\] = .* holds the separator"),
        ("words", ("a", "b\r", "c"), r"words\[1\] = .* holds the separator"),
        ("words", ("a", 1, "c"), r"words\[1\] = 1 is not a string"),
        ("words", ("a", "b\ud800", "c"), r"words\[1\] = 'b\\ud800' holds a lone surrogate"),
        ("tags", ("A", "\udfff", "C"), r"tags\[1\] = .* holds a lone surrogate"),
        ("labels", ("A", "B", "\udc80"), r"labels\[2\] = .* holds a lone surrogate"),
        ("words", ("a", "b" * 1000 + " ", "c"), r"words\[1\] = 'b{40}… holds the separator"),
        ("words", "w" * 1000, "got the string 'w{40}…$"),
        ("words", ("a", "b"), "tags: 2 words need 2 tags, got 3"),
        ("tags", ("A", "B"), "tags: 3 words need 3 tags, got 2"),
        ("tags", ("A", "(", "C"), r"tags\[1\] = '\(' holds"),
        ("labels", ("A", "B)", "C"), r"labels\[1\] = 'B\)' holds"),
        ("labels", ("A", " ", "C"), r"labels\[1\] = ' ' holds"),
        ("labels", ("A",), "labels: 3 spans need 3 labels, got 1"),
        ("spans", ((0, 2), (1, 3), (0, 3)), r"spans\[1\] = \(1, 3\) crosses \(0, 2\)"),
        ("spans", ((1, 3), (0, 2), (0, 3)), r"spans\[1\] = \(0, 2\) crosses \(1, 3\)"),
        ("spans", ((0, 2), (2, 2), (0, 3)), r"spans\[1\] = \(2, 2\) is empty"),
        ("spans", ((0, 2), (2, 4), (0, 3)), r"spans\[1\] = \(2, 4\) leaves the sentence"),
        ("spans", ((-1, 2), (2, 3), (0, 3)), r"spans\[0\] = \(-1, 2\) leaves the sentence"),
        ("spans", ((2, 3), (0, 2), (0, 3)), r"spans\[1\] = \(0, 2\) stands after \(2, 3\).*post-order"),
        ("spans", ((0, 3), (0, 2), (0, 3)), r"spans\[1\] = \(0, 2\) stands after \(0, 3\).*post-order"),
        ("spans", ((0, 1), (1, 2), (2, 3)), r"spans\[2\] = \(2, 3\) is the last node.*\(0, 3\)"),
        ("spans", ((0, 1), (1, 2), (0, 2)), r"spans\[2\] = \(0, 2\) is the last node.*\(0, 3\)"),
        ("spans", ((0, 1), (1, 2), 3), r"spans\[2\] = 3 is not a pair"),
        ("spans", ((0, 1), (1, 2), (0, 1, 2)), r"spans\[2\] = \(0, 1, 2\) is not a pair"),
        ("spans", ((0, 1), (1, 2), (0.0, 3)), r"spans\[2\] = \(0.0, 3\) is not a pair of integers"),
    ],
)
def test_parts_that_make_no_tree_are_refused_by_name(part: str, value: object, message: str) -> None:
    parts = {"words": CAT.words, "tags": CAT.tags, "labels": CAT.labels, "spans": CAT.spans}
    with pytest.raises(ValueError, match=message):
        Tree(**{**parts, part: value})  # type: ignore[arg-type]


def test_parts_may_come_from_generators() -> None:
    parts = (CAT.words, CAT.tags, CAT.labels, CAT.spans)
    assert Tree(*((value for value in part) for part in parts)) == CAT  # type: ignore[arg-type, misc]


def test_a_tree_without_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="spans: a tree has at least one node"):
        Tree(["a"], ["A"], [], [])


@given(trees(max_leaves=5), st.data())
def test_any_spans_that_are_accepted_are_nested_and_ordered(tree: Tree, data: st.DataObject) -> None:
    size = len(tree.words)
    ends = st.integers(0, size)
    spans = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=4))
    try:
        made = Tree(tree.words, tree.tags, ["X"] * len(spans), spans)
    except ValueError:
        made = None
    is_tree = (
        spans[-1] == (0, size)
        and all(start < end for start, end in spans)
        and all(
            one[1] <= other[0] or (other[0] <= one[0] and one[1] <= other[1])
            for index, one in enumerate(spans)
            for other in spans[index + 1 :]
        )
    )
    assert (made is not None) == is_tree


def test_importing_trees_loads_no_heavy_library() -> None:
    script = "import sys, treeformer.trees; print({'torch', 'numpy', 'nltk'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
