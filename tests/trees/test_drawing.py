"""Drawings as text: every word and label stands where it can be read."""

import unicodedata

from hypothesis import given

from tests.trees.strategies import plain_labels, trees
from treeformer.trees import Tree, to_text


@given(trees(max_leaves=8))
def test_every_text_of_a_row_stands_in_the_drawing_in_order(tree: Tree) -> None:
    lines = to_text(tree).split("\n")

    def visible(text: str) -> str:
        return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)

    position = 0
    for word in map(visible, tree.words):
        position = lines[-1].index(word, position) + len(word) + 1
    position = 0
    for tag in map(visible, tree.tags):
        position = lines[-2].index(tag, position) + len(tag) + 1
    assert lines[0].strip(" ") == visible(tree.labels[-1]).strip(" ")


@given(trees(max_leaves=10, node_labels=plain_labels(), leaf_tags=plain_labels()))
def test_every_label_is_drawn_once(tree: Tree) -> None:
    rows = to_text(tree).split("\n")[:-2:2]
    drawn = [part for row in rows for part in row.split() if part != "│"]
    assert sorted(drawn) == sorted(tree.labels)


def test_wide_characters_take_two_columns() -> None:
    tree = Tree.from_brackets("(S (NP (N 猫犬) (N e\u0301)) (V bb))")
    assert to_text(tree).split("\n") == [
        "        S",
        "     ┌──┴──┐",
        "     NP    │",
        "   ┌─┴─┐   │",
        "   N   N   V",
        "  猫犬 e\u0301   bb",
    ]


def test_a_long_label_widens_the_columns_below_it() -> None:
    tree = Tree.from_brackets("(S (LONGLABEL (A a) (B b)) (OTHERLABEL (C c) (D d)))")
    (row,) = [line for line in to_text(tree).split("\n") if "LONG" in line]
    assert row.split() == ["LONGLABEL", "OTHERLABEL"]
