"""Trees of ten thousand levels: nothing recurses."""

import io
import pickle

import pytest

from treeformer.trees import (
    Tree,
    TreeFormatError,
    binarise,
    collapse,
    from_nltk,
    join,
    left_branching,
    random_tree,
    read_trees,
    right_branching,
    sentences,
    split_words,
    strip,
    to_nltk,
    to_svg,
    to_text,
    unbinarise,
    write_trees,
)

LEVELS = 10_000
CHAIN = Tree(["a", "b"], ["A", "B"], [f"N{level}" for level in range(LEVELS)], [(0, 2)] * LEVELS)
WORDS = ["w"] * (LEVELS + 1)
DEEP = [CHAIN, left_branching(WORDS), right_branching(WORDS)]


@pytest.fixture(params=DEEP, ids=["chain", "left", "right"])
def tree(request: pytest.FixtureRequest) -> Tree:
    deep: Tree = request.param
    return deep


def test_deep_trees_are_read_and_written(tree: Tree) -> None:
    assert max(tree.leaf_depths) == LEVELS
    stream = io.StringIO()
    write_trees([tree, tree], stream)
    stream.seek(0)
    assert list(read_trees(stream, unary="keep")) == [tree, tree]
    assert Tree.from_brackets(str(tree)) == collapse(tree)
    assert Tree.from_brackets(tree.pretty(), unary="keep") == tree
    assert len(tree.pretty()) < 150 * LEVELS


def test_deep_trees_hash_compare_and_pickle(tree: Tree) -> None:
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert len(list(tree)) == LEVELS


def test_deep_trees_transform(tree: Tree) -> None:
    assert len(collapse(tree)) == (1 if tree is CHAIN else LEVELS)
    assert strip(tree) == tree
    assert unbinarise(binarise(tree)) == tree
    assert sentences(join([tree, tree])) == (tree, tree)
    split = split_words(tree, [["x", "y"]] * len(tree.words))
    assert len(split) == LEVELS + len(tree.words)
    assert from_nltk(to_nltk(tree)) == tree


def test_deep_trees_are_drawn() -> None:
    assert to_text(CHAIN).count("\n") == 2 * LEVELS + 1
    assert to_svg(CHAIN).count("<text") == LEVELS + 4
    assert to_svg(DEEP[1]).count("<text") == LEVELS + 2 * len(WORDS)


def test_wide_trees_binarise() -> None:
    flat = Tree(WORDS, WORDS, ["S"], [(0, len(WORDS))])
    for factor in ("right", "left"):
        assert max(binarise(flat, factor).depths) == LEVELS - 1  # type: ignore[arg-type]
    assert unbinarise(binarise(flat)) == flat


def test_a_random_tree_over_many_words() -> None:
    assert len(random_tree(WORDS, seed=0)) == LEVELS


def test_deep_errors_are_found() -> None:
    with pytest.raises(TreeFormatError, match=f"expected {LEVELS} more"):
        list(read_trees(io.StringIO("(A " * LEVELS)))
    with pytest.raises(TreeFormatError, match=f"1:{3 * LEVELS + 1}: .*empty"):
        list(read_trees(io.StringIO("(A " * LEVELS + "()" + ")" * LEVELS)))
