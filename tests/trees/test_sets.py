"""Proposition 1: a tree and its sets (L, N, R) are equivalent."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees.strategies import trees
from treeformer.trees import Tree, TreeSets, from_sets, left_branching, to_sets
from treeformer.trees.sets import LeafElement, NodeElement


def renamed(sets: TreeSets, seed: int) -> TreeSets:
    """The same sets under other names of the nodes."""
    names = list(range(100, 100 + len(sets.nodes)))
    random.Random(seed).shuffle(names)
    new = {node: NodeElement(names[node.name], node.label) for node in sets.nodes}
    subtrees = {
        new[node]: frozenset(new[member] if isinstance(member, NodeElement) else member for member in members)
        for node, members in sets.subtrees.items()
    }
    return TreeSets(sets.leaves, frozenset(new.values()), subtrees)


@given(trees(unary=False) | trees(), st.integers(0, 100))
def test_a_tree_comes_back_from_its_sets_whatever_its_nodes_are_called(tree: Tree, seed: int) -> None:
    assert from_sets(renamed(to_sets(tree), seed)) == tree


@given(trees())
def test_the_subtree_of_a_node_holds_what_its_parents_lead_to(tree: Tree) -> None:
    sets = to_sets(tree)
    assert [(leaf.word, leaf.tag) for leaf in sets.leaves] == list(zip(tree.words, tree.tags, strict=True))

    def ancestors(parent: int) -> set[int]:
        above = set()
        while parent >= 0:
            above.add(parent)
            parent = tree.parents[parent]
        return above

    for node in sets.nodes:
        below = {m.name for m in sets.subtrees[node] if isinstance(m, NodeElement)}
        assert below == {
            other for other in range(len(tree)) if node.name in {other} | ancestors(tree.parents[other])
        }
        leaves = {m.position for m in sets.subtrees[node] if isinstance(m, LeafElement)}
        assert leaves == {
            leaf for leaf, parent in enumerate(tree.leaf_parents) if node.name in ancestors(parent)
        }


def test_sets_of_a_tree_of_a_thousand_levels() -> None:
    tree = left_branching(["w"] * 1001)
    assert from_sets(to_sets(tree)) == tree


def test_sets_of_no_tree_are_refused() -> None:
    sets = to_sets(Tree.from_brackets("(S (NP (A a) (B b)) (C c))"))
    phrase, whole = sorted(sets.nodes, key=lambda node: node.name)
    a, b, c = sets.leaves
    for broken, message in [
        ({a, c, phrase}, "neighbouring leaves"),
        ({phrase}, "neighbouring leaves"),
        ({b, c, phrase}, None),
        ({a, b}, "the node and all below it"),
        ({a, b, phrase, whole}, "the node and all below it"),
    ]:
        changed = TreeSets(sets.leaves, sets.nodes, {**sets.subtrees, phrase: frozenset(broken)})
        if message:
            with pytest.raises(ValueError, match=message):
                from_sets(changed)
        else:
            assert str(from_sets(changed)) == "(S (A a) (NP (B b) (C c)))"
    crossing = {**sets.subtrees, whole: frozenset({b, c, phrase, whole})}
    with pytest.raises(ValueError, match="crosses"):
        from_sets(TreeSets(sets.leaves, sets.nodes, crossing))
