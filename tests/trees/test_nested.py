"""Trees from nested pairs: formulas, JSON and XML."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.trees.strategies import trees
from treeformer.trees import Tree, from_nested, to_nltk
from treeformer.trees.escapes import decode_word


def nested(part: Any) -> Any:
    """An ``nltk.Tree`` as nested pairs."""
    if isinstance(part[0], str):
        return (part.label(), decode_word(part[0]))
    return (part.label(), [nested(inner) for inner in part])


@given(trees())
def test_a_tree_comes_back_from_nested_pairs(tree: Tree) -> None:
    assert from_nested(nested(to_nltk(tree))) == tree


def test_parts_without_words_are_left_out_and_texts_are_split() -> None:
    tree = from_nested(("a", [("b", []), ("text", " one\n two "), ("c", [("text", "")])]))
    assert str(tree) == "(a (text one) (text two))"
    assert str(from_nested(("word", "alone"))) == "(word (word alone))"


def test_labels_are_made_fit_for_brackets() -> None:
    assert (
        str(from_nested(("a key (old)", [("the tag", "f(x)")])))
        == "(a_key_-LRB-old-RRB- (the_tag f-LRB-x-RRB-))"
    )


def test_deep_nesting_is_no_recursion() -> None:
    deep: Any = ("leaf", "x")
    for _ in range(5000):
        deep = ("node", [deep])
    assert len(from_nested(deep)) == 5000


@pytest.mark.parametrize(
    "wrong", [("a", [])] + [("a", [part]) for part in ("b", ("b", 1), ("", "x"), (1, "x"))]
)
def test_what_is_no_pair_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="nested: expected"):
        from_nested(wrong)
