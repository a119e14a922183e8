"""``nltk.Tree`` both ways."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree as NltkTree

from tests.trees.strategies import plain_labels, trees
from treeformer.trees import Tree, from_nltk, to_nltk


@given(trees())
def test_a_tree_comes_back_from_nltk(tree: Tree) -> None:
    assert from_nltk(to_nltk(tree)) == tree


@given(
    trees(
        leaf_words=st.sampled_from(["dog", "(", "a)b", "-LRB-", "1\\/2", "猫"]),
        leaf_tags=plain_labels(),
        node_labels=plain_labels(),
    )
)
def test_both_libraries_read_the_same_brackets(tree: Tree) -> None:
    theirs = NltkTree.fromstring(str(tree))
    assert from_nltk(theirs) == tree
    assert to_nltk(tree) == theirs


def test_an_outermost_label_that_is_empty_reads_as_root() -> None:
    assert str(from_nltk(NltkTree.fromstring("( (S (NN a)))"))) == "(ROOT (S (NN a)))"
    assert str(from_nltk(NltkTree("NN", ["a"]))) == "(NN (NN a))"
    assert str(from_nltk(NltkTree("-LRB-", ["-LRB-"]))) == "(-LRB- (-LRB- -LRB-))"


def test_what_has_no_tag_or_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected Tree\(TAG, \[word\]\), found 'b' without a tag"):
        from_nltk(NltkTree("S", [NltkTree("NN", ["a"]), "b"]))
    with pytest.raises(ValueError, match=r"labels\[0\] is empty"):
        from_nltk(NltkTree("S", [NltkTree("", [NltkTree("NN", ["a"])])]))
    for unlabelled in (NltkTree(None, [NltkTree("NN", ["a"])]), NltkTree("S", [NltkTree(None, ["a"])])):
        with pytest.raises(ValueError, match="expected a label, found None over 'a'"):
            from_nltk(unlabelled)
    with pytest.raises(ValueError, match="without a tag"):
        from_nltk("(S (NN a))")
    with pytest.raises(ValueError, match=r"spans\[0\] = \(0, 0\) is empty"):
        from_nltk(NltkTree("S", [NltkTree("NP", []), NltkTree("NN", ["a"])]))


def test_a_missing_nltk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tree", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[nltk\]'"):
        to_nltk(Tree.from_brackets("(NN a)"))
