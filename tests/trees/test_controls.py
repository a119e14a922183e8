"""Control trees: binary, over any words, of the shape in their name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees.strategies import words
from treeformer.trees import Tree, balanced, left_branching, random_tree, right_branching, shuffled_labels

SENTENCES = st.lists(words(), min_size=1, max_size=30)


@given(SENTENCES, st.integers(0, 5))
def test_control_trees_are_binary_and_keep_the_words(sentence: list[str], seed: int) -> None:
    for tree in (
        balanced(sentence),
        left_branching(sentence),
        right_branching(sentence),
        random_tree(sentence, seed),
    ):
        assert tree.words == tuple(sentence)
        assert set(tree.tags) | set(tree.labels) == {"X"}
        assert len(tree) == max(1, len(sentence) - 1)
        assert len(set(tree.spans)) == len(tree)


@given(st.integers(1, 200))
def test_a_balanced_tree_is_as_flat_as_a_binary_tree_can_be(size: int) -> None:
    depths = balanced(["w"] * size).leaf_depths
    assert max(depths) == max(1, (size - 1).bit_length())


def test_shapes() -> None:
    words = ["a", "b", "c", "d"]
    assert str(left_branching(words)) == "(X (X (X (X a) (X b)) (X c)) (X d))"
    assert str(right_branching(words)) == "(X (X a) (X (X b) (X (X c) (X d))))"
    assert str(balanced(words)) == "(X (X (X a) (X b)) (X (X c) (X d)))"
    assert str(balanced(["a"], tags=["NN"])) == "(X (NN a))"


def test_a_seed_gives_the_same_tree_everywhere() -> None:
    letters = list("abcdef")
    assert str(random_tree(letters, 1)) == "(X (X a) (X (X (X (X b) (X (X c) (X d))) (X e)) (X f)))"
    assert random_tree(letters, 1) == random_tree(letters, 1)
    assert len({random_tree(letters, seed) for seed in range(30)}) > 10


@pytest.mark.parametrize("seed", [None, 1.0, "1"])
def test_a_seed_that_is_no_integer_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match=f"seed = {seed!r}: expected an integer"):
        random_tree(["a", "b"], seed)  # type: ignore[arg-type]


def test_words_may_come_from_a_generator() -> None:
    assert balanced(word for word in "abc") == balanced(["a", "b", "c"])
    assert left_branching(iter("ab"), tags=iter("AB")) == left_branching(["a", "b"], tags=["A", "B"])


def test_every_split_of_a_span_comes_up() -> None:
    firsts = {tree.spans[-2][0] for tree in (random_tree(["w"] * 5, seed) for seed in range(60))}
    assert firsts == {1, 2, 3, 0}


@pytest.mark.parametrize("make", [balanced, left_branching, right_branching])
def test_bad_words_are_refused(make: object) -> None:
    with pytest.raises(ValueError, match="words: a tree has at least one leaf"):
        make([])  # type: ignore[operator]
    with pytest.raises(ValueError, match="words: expected a sequence of strings"):
        make("abc")  # type: ignore[operator]
    with pytest.raises(ValueError, match="tags: 2 words need 2 tags, got 1"):
        make(["a", "b"], tags=["A"])  # type: ignore[operator]
    assert isinstance(make(("a", "b")), Tree)  # type: ignore[operator]


@given(st.integers(1, 40), st.integers(0, 5))
def test_shuffled_labels_are_the_same_labels_over_the_same_spans(size: int, seed: int) -> None:
    shape = random_tree(["w"] * size, seed)
    tree = Tree(shape.words, shape.tags, [str(node) for node in range(len(shape))], shape.spans)
    shuffled = shuffled_labels(tree, seed)
    assert (shuffled.words, shuffled.tags, shuffled.spans) == (tree.words, tree.tags, tree.spans)
    assert sorted(shuffled.labels) == sorted(tree.labels)
    assert shuffled == shuffled_labels(tree, seed)
    assert size < 8 or shuffled != tree
