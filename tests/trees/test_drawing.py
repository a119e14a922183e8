"""Drawings as text: every word and label stands where it can be read."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tests.trees.strategies import plain_labels, trees
from treeformer.trees import Tree, to_text
from treeformer.trees.outline import columns, to_outline


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


@given(trees(max_leaves=12, node_labels=plain_labels(), leaf_tags=plain_labels()), st.integers(30, 60))
def test_an_outline_has_every_label_and_every_word_in_order(tree: Tree, width: int) -> None:
    words = [f"w{number}" for number in range(len(tree.words))]
    painted: list[int] = []
    text = to_outline(
        tree, words, tree.labels, width, lambda node, _: f"<{node}>", lambda leaf, _: f"[{leaf}]"
    )
    lines = text.split("\n")
    order = [int(number) for number in re.findall(r"<(\d+)>", text)]
    assert sorted(order) == list(range(len(tree)))
    assert all(
        order.index(parent) < order.index(node) for node, parent in enumerate(tree.parents) if parent >= 0
    )
    for node, (start, end) in enumerate(tree.spans):
        (line,) = [line for line in lines if f"<{node}>" in line]
        found = [int(number) for number in re.findall(r"\[(\d+)\]", line)]
        assert found in ([], list(range(start, end)))
        painted += found
    alone = [int(number) for line in lines if "<" not in line for number in re.findall(r"\[(\d+)\]", line)]
    assert {*painted, *alone} == set(range(len(words)))


@given(trees(max_leaves=30, node_labels=plain_labels(), leaf_tags=plain_labels(), leaf_words=plain_labels()))
def test_a_drawing_that_is_too_wide_becomes_an_outline_of_that_width(tree: Tree) -> None:
    drawing = to_text(tree)
    assert to_text(tree, width=10_000) == drawing
    assert max(map(columns, to_text(tree, width=80).split("\n"))) <= 80


def test_an_outline_is_read_from_left_to_right() -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (JJ grey) (NN mouse))))")
    assert to_text(tree, width=25).split("\n") == [
        "S",
        "├ NP  the cat",
        "└ VP  sees the grey mouse",
        "  └ NP  the grey mouse",
    ]
    assert to_text(tree, width=22).split("\n") == [
        "S",
        "├ NP  the cat",
        "└ VP",
        "  ├ VBZ  sees",
        "  └ NP  the grey mouse",
    ]
